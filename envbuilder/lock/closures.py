"""Files of one interpreter: the result of a resolution, or the closure shipped with an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from envbuilder.core.digests import digest_of
from envbuilder.core.field_rules import NotEmpty, Parsed
from envbuilder.core.field_types import Digest
from envbuilder.core.names import sha256
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One distribution, and its most suitable file for the image.

    Attributes:
        name: Normalized name.
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


Measure: TypeAlias = Callable[[Sequence[Chosen], str], Sequence[int]]
"""Returns the bytes of files for an interpreter such as `3.8`, in their order; 0 if the index does not state them."""


def with_sizes(chosen: Sequence[Chosen], python: Release, measure: Measure) -> tuple[Chosen, ...]:
    """Return the same files with their sizes, which decide about layers; known sizes are not looked up."""
    unknown = [each for each in chosen if not each.size]
    if not unknown:
        return tuple(chosen)
    sizes = dict(zip((each.sha256 for each in unknown), measure(unknown, str(python)), strict=True))
    return tuple(each if each.size else replace(each, size=sizes[each.sha256]) for each in chosen)


def _line(chosen: Chosen) -> str:
    return " ".join((*_package_lines((chosen,)), *([str(chosen.size)] if chosen.size else [])))


def _chosen(line: str) -> Chosen:
    parts = line.split(" ")
    if len(parts) not in {4, 5} or not all(parts):
        raise ValueError("must be `name version sha256 file size`")
    name, version, digest, file = parts[:4]
    size = parts[4] if len(parts) == 5 else "0"
    if "/" in file:
        raise ValueError(f"{file!r} is not the name of a file")
    if not (size.isascii() and size.isdigit()):
        raise ValueError(f"{size!r} is not a number of bytes")
    return Chosen(name=normalized(name), version=version, file=file, sha256=sha256(digest), size=int(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A base that a closure is for, with the digest of the request."""

    base: str
    request: Digest


_Line: TypeAlias = Annotated[Chosen, Parsed(_chosen, write=_line)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """All files of one interpreter.

    Attributes:
        python: Interpreter, major and minor.
        answers: In the order of the environment's bases.
        packages: Distributions to install, sorted by name.
        build: Build dependencies of source distributions, sorted by name; empty if there are none.
    """

    python: Release
    answers: Annotated[tuple[Answer, ...], NotEmpty()]
    packages: tuple[_Line, ...]
    build: tuple[_Line, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        """Ids of the bases that it applies to."""
        return tuple(answer.base for answer in self.answers)

    @property
    def digest(self) -> str:
        """`sha256:…` of all packages and build dependencies; the same files are the same closure on every base."""
        text = "\n".join(
            (f"python {self.python}", *_package_lines(self.packages), "build", *_package_lines(self.build))
        )
        return digest_of(text.encode())


def _package_lines(packages: Iterable[Chosen]) -> list[str]:
    """Return one line for each package: name, version, sha256, file."""
    return [f"{each.name} {each.version} {each.sha256} {each.file}" for each in packages]
