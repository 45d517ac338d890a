"""Which files one interpreter gets: what a resolution chose, and what ships with a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.core.digests import digest_of
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One distribution, and the one file of it that fits the image best.

    Attributes:
        name: Normalized name.
        version: Exact version.
        file: File name.
        sha256: 64 hexadecimal digits.
        size: Bytes; 0 when the index did not say.
    """

    name: str
    version: str
    file: str
    sha256: str
    size: int = 0

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel; a source distribution otherwise."""
        return self.file.endswith(".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Everything that one interpreter gets.

    Attributes:
        python: Interpreter, major and minor.
        answers: `(base id, digest of the request)` in the order of the row's bases.
        packages: What is installed, sorted by name.
        build: What source distributions are built with, sorted by name; empty when there are none.
    """

    python: Release
    answers: tuple[tuple[str, str], ...]
    packages: tuple[Chosen, ...]
    build: tuple[Chosen, ...] = ()

    @property
    def bases(self) -> tuple[str, ...]:
        """Ids of the bases that it is for."""
        return tuple(base for base, _ in self.answers)

    @property
    def digest(self) -> str:
        """`sha256:…` of what is installed and built with; the same files are the same closure on every base."""
        text = "\n".join((f"python {self.python}", *package_lines(self.packages), "build", *package_lines(self.build)))
        return digest_of(text.encode())


def package_lines(packages: Iterable[Chosen]) -> list[str]:
    """One line for each package: name, version, sha256, file."""
    return [f"{each.name} {each.version} {each.sha256} {each.file}" for each in packages]
