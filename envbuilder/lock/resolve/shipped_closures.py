"""Python packages shipped with an environment: `locks/ID.yaml`, one closure for each interpreter and C library.

Every build of an environment uses these files, without a resolution. A closure records the digest of its request; after
a change of the environment the digest differs, and the closure is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from envbuilder.core import structure
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import NotEmpty
from envbuilder.core.field_types import exactly
from envbuilder.core.files import read_text
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured
from envbuilder.lock.closures import Closure
from envbuilder.lock.resolve.resolver import Resolution

SHIPPED_SCHEMA = 1
_HEADER = (
    "# The files that this row installs: name, version, sha256, file, bytes. Written by `envbuilder catalog prove`.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: Annotated[int, exactly(SHIPPED_SCHEMA)]
    id: str
    closures: Annotated[tuple[Closure, ...], NotEmpty()]


class ShippedClosures(Protocol):
    """Source of shipped closures."""

    def find(self, row: str, request: Resolution) -> Closure | None:
        """Return the closure for a request; None if none is shipped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureFolder:
    """Closures in directories of matrices.

    Attributes:
        folder: Holds `ID.yaml`.
        preferred: Directories that are read before it, in this order.
    """

    folder: Path
    preferred: tuple[Path, ...] = ()

    def find(self, row: str, request: Resolution) -> Closure | None:
        """See `ShippedClosures.find`."""
        asked = request_digest(request)
        return next((each for each in self.read(row) if asked in {answer.request for answer in each.answers}), None)

    def read(self, row: str) -> tuple[Closure, ...]:
        """Return all closures of an environment, in file order; empty if none is shipped.

        Raises:
            InvalidInput: The file is invalid.
        """
        return tuple(each for folder in (*self.preferred, self.folder) for each in _read(folder, row))


def _read(folder: Path, row: str) -> tuple[Closure, ...]:
    path = folder / f"{row}.yaml"
    return load_closures(read_text(path), str(path), row) if path.exists() else ()


def request_digest(request: Resolution) -> str:
    """Return the `sha256:…` of everything that a resolution depends on, in canonical form."""
    document = {
        "python": str(request.python),
        "glibc": str(request.glibc),
        "requirements": sorted(request.requirements),
        "constraints": sorted(request.constraints),
        "cutoff": request.cutoff.isoformat(),
        "source_builds": sorted(request.source_builds),
        "leave_out": sorted(request.leave_out),
        "preferred": sorted(request.preferred),
        # Left out if empty, so that the digests of requests in `matrices/locks/` stay the same.
        **({"provided": sorted(request.provided)} if request.provided else {}),
    }
    return inputs_digest(document)


def merged(closures: Iterable[Closure]) -> tuple[Closure, ...]:
    """Return closures with the same files as one, in the order of their first occurrence."""
    found: dict[str, Closure] = {}
    for closure in closures:
        known = found.get(closure.digest)
        answers = (*known.answers, *closure.answers) if known else closure.answers
        found[closure.digest] = Closure(
            python=closure.python, answers=answers, packages=closure.packages, build=closure.build
        )
    return tuple(found.values())


def dump_closures(row: str, closures: Iterable[Closure]) -> str:
    """Return the canonical text of `locks/ID.yaml`."""
    document = _Document(schema=SHIPPED_SCHEMA, id=row, closures=tuple(closures))
    return _HEADER + canonical(structure.dump(document))


def load_closures(text: str, file: str, row: str) -> tuple[Closure, ...]:
    """Read `locks/ID.yaml`.

    Raises:
        InvalidInput: With every fault.
    """

    def check(document: _Document) -> Iterator[Mismatch]:
        if document.id != row:
            yield Mismatch(path=("id",), problem=f"must be the name of the file, {row!r}")

    return structured(_Document, read(text, file), file, check=check).closures
