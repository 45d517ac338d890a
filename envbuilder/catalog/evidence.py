"""Evidence that a row of the catalog works, as data: document or observation, and its date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, TypeAlias

from envbuilder.core.digests import shortened
from envbuilder.core.field_rules import NotEmpty, Sorted, Tagged
from envbuilder.core.field_types import Digest, LibraryName, Sha256


class Grade(StrEnum):
    """Strength of the proof of a row, weakest first."""

    DOCUMENTED = "documented"
    MEASURED = "measured"
    RESOLVED = "resolved"
    CPU = "cpu"
    IMAGE_WITH_STAND_INS = "image-with-stand-ins"
    IMAGE = "image"
    GPU = "gpu"

    @property
    def rank(self) -> int:
        """Position from weakest to strongest, from 0."""
        return list(Grade).index(self)

    @property
    def is_run(self) -> bool:
        """True if the software ran; False if the proof was read or computed."""
        return self.rank >= Grade.CPU.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """A document that states that the row works.

    Attributes:
        where: The document and its statement.
        when: Day of the document.
    """

    grade: ClassVar[Grade] = Grade.DOCUMENTED
    where: str
    when: date

    def __str__(self) -> str:
        return self.where


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The contents of a wheel, which the row agrees with."""

    grade: ClassVar[Grade] = Grade.MEASURED
    file: str
    sha256: Sha256
    when: date

    def __str__(self) -> str:
        return f"wheel {self.file} (sha256 {self.sha256[:12]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The dependencies of the row, resolved without a conflict.

    Attributes:
        bases: Ids of the bases that the closure is for, in the order of the row.
        python: Interpreter, major and minor.
        closure: Digest of the shipped closure.
    """

    grade: ClassVar[Grade] = Grade.RESOLVED
    bases: tuple[str, ...]
    python: str
    closure: Digest
    when: date

    def __str__(self) -> str:
        return f"packages for Python {self.python} on {', '.join(self.bases)} (closure {shortened(self.closure)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RanOnCpu:
    """A run without a GPU in a virtual environment of a host: import, training, saving and loading.

    Attributes:
        python: Full version of the interpreter.
        glibc: C library of the host.
        closure: Digest of the closure that was installed.
        report: File under `evidence/reports/`.
    """

    grade: ClassVar[Grade] = Grade.CPU
    python: str
    glibc: str
    closure: Digest
    report: str
    when: date

    def __str__(self) -> str:
        return (
            f"imported, trained, saved and loaded with Python {self.python}, glibc {self.glibc} "
            f"(closure {shortened(self.closure)}, {self.report})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltWithStandIns:
    """The same as `ProvenImage`, with stand-ins in place of libraries that could not be fetched.

    Attributes:
        python: Full version of the interpreter.
        closure: Digest of the closure that was installed.
        lock: Digest of the lock before its libraries were replaced.
        stand_ins: Sonames of the replaced libraries, sorted; that of the driver if it was replaced for the run.
        report: File under `evidence/reports/`.
    """

    grade: ClassVar[Grade] = Grade.IMAGE_WITH_STAND_INS
    base: str
    python: str
    closure: Digest
    lock: Digest
    stand_ins: Annotated[tuple[LibraryName, ...], NotEmpty(), Sorted()]
    report: str
    when: date

    def __str__(self) -> str:
        return (
            f"image on {self.base} with Python {self.python}: trained, saved and loaded, with stand-ins for "
            f"{', '.join(self.stand_ins)} (lock {shortened(self.lock)}, {self.report})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenImage:
    """An image in which TensorFlow was imported, trained, saved and loaded without a GPU.

    Attributes:
        python: Full version of the interpreter.
        closure: Digest of the closure that was installed.
        report: File under `evidence/reports/`.
    """

    grade: ClassVar[Grade] = Grade.IMAGE
    base: str
    python: str
    closure: Digest
    lock: Digest
    report: str
    when: date

    def __str__(self) -> str:
        return (
            f"image on {self.base} with Python {self.python}: trained, saved and loaded, libraries opened "
            f"(lock {shortened(self.lock)}, {self.report})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RanOnGpu:
    """A computation on a GPU.

    Attributes:
        base: Id of the base of the image.
        closure: Digest of the closure that was installed.
        report: File under `evidence/reports/`.
    """

    grade: ClassVar[Grade] = Grade.GPU
    base: str
    gpu: str
    driver: str
    closure: Digest
    lock: Digest
    report: str
    when: date

    def __str__(self) -> str:
        where = f"image on {self.base} computed on {self.gpu}, driver {self.driver}"
        return f"{where} (lock {shortened(self.lock)}, {self.report})"


Evidence: TypeAlias = Annotated[
    Documented | Measured | Resolved | RanOnCpu | BuiltWithStandIns | ProvenImage | RanOnGpu,
    Tagged("grade", *(grade.value for grade in Grade)),
]
"""One proof that a row works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """A proof that was tried without success.

    Attributes:
        why: The obstacle, by name.
    """

    grade: Grade
    why: str
    when: date
