"""An index in a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envbuilder.errors import SourceUnreachable
from envbuilder.indexing.index import IndexFile
from envbuilder.model.closures import Closure


class FakeIndex:
    """The `Index` for tests.

    Args:
        releases: Files of each release, by package and version.
        answers: Whether it answers at all.
    """

    def __init__(
        self, releases: Mapping[tuple[str, str], Iterable[IndexFile]] | None = None, *, answers: bool = True
    ) -> None:
        self._releases = {key: tuple(files) for key, files in (releases or {}).items()}
        self._answers = answers

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        self._reach()
        return tuple(sorted(self._releases.get((package, version), ()), key=lambda each: each.file))

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        self._reach()
        wanted = {(each.name, each.version) for each in (*closure.packages, *closure.build)}
        return frozenset((file.file, file.sha256) for key in wanted for file in self._releases.get(key, ()))

    def _reach(self) -> None:
        if not self._answers:
            raise SourceUnreachable("the package index does not answer")
