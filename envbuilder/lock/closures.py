"""Files of one interpreter: the result of a resolution, or the closure shipped with an environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

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
class _Answer:
    base: str
    request: Digest


def _pairs(answers: tuple[_Answer, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((answer.base, answer.request) for answer in answers)


def _answers(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"base": base, "request": request} for base, request in pairs]


_Line: TypeAlias = Annotated[Chosen, Parsed(_chosen, write=_line)]
_OfAnswers: Final = Parsed(_pairs, of=Annotated[tuple[_Answer, ...], NotEmpty()], write=_answers)


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
    answers: Annotated[tuple[tuple[str, str], ...], _OfAnswers]
    packages: tuple[_Line, ...]
    build: tuple[_Line, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        """Ids of the bases that it applies to."""
        return tuple(base for base, _ in self.answers)

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
