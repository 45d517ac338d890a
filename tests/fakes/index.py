"""An index in a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envbuilder.core.errors import NotOnIndex, SourceUnreachable
from envbuilder.lock.closures import Closure
from envbuilder.lock.index.index import IndexFile, Listed


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

    def locate(self, wanted: Sequence[Listed], python: str) -> tuple[IndexFile, ...]:  # noqa: ARG002  the port names it
        self._reach()
        listed = {file.sha256: file for files in self._releases.values() for file in files}
        missing = tuple(each.file for each in wanted if each.sha256 not in listed)
        if missing:
            raise NotOnIndex(missing)
        return tuple(listed[each.sha256] for each in wanted)

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        self._reach()
        wanted = {(each.name, each.version) for each in (*closure.packages, *closure.build)}
        return frozenset((file.file, file.sha256) for key in wanted for file in self._releases.get(key, ()))

    def _reach(self) -> None:
        if not self._answers:
            raise SourceUnreachable("the package index does not answer")
