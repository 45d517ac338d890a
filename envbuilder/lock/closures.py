"""Files of one interpreter: the result of a resolution, or the closure shipped with an environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.core.digests import digest_of
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One distribution, and its most suitable file for the image.

    Attributes:
        name: Normalized name.
        version: Exact version.
        file: File name.
        sha256: 64 hexadecimal digits.
        size: Bytes; 0 if the index does not state it.
    """

    name: str
    version: str
    file: str
    sha256: str
    size: int = 0

    @property
    def is_wheel(self) -> bool:
        """True for a wheel, False for a source distribution."""
        return self.file.endswith(".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """All files of one interpreter.

    Attributes:
        python: Interpreter, major and minor.
        answers: `(base id, digest of the request)` in the order of the environment's bases.
        packages: Distributions to install, sorted by name.
        build: Build dependencies of source distributions, sorted by name; empty if there are none.
    """

    python: Release
    answers: tuple[tuple[str, str], ...]
    packages: tuple[Chosen, ...]
    build: tuple[Chosen, ...] = ()

    @property
    def bases(self) -> tuple[str, ...]:
        """Ids of the bases that it applies to."""
        return tuple(base for base, _ in self.answers)

    @property
    def digest(self) -> str:
        """`sha256:…` of all packages and build dependencies; the same files are the same closure on every base."""
        text = "\n".join((f"python {self.python}", *package_lines(self.packages), "build", *package_lines(self.build)))
        return digest_of(text.encode())


def package_lines(packages: Iterable[Chosen]) -> list[str]:
    """Return one line for each package: name, version, sha256, file."""
    return [f"{each.name} {each.version} {each.sha256} {each.file}" for each in packages]
