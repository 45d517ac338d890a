"""Python packages shipped with an environment: `locks/ID.yaml`, one closure for each interpreter and C library.

Every build of an environment uses these files, without a resolution. A closure records the digest of its request; after
a change of the environment the digest differs, and the closure is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.digests import sha256_digest
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.references import normalized
from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.fields import Fields, Reader
from envbuilder.core.yaml.requirements import sha256
from envbuilder.lock.closures import Chosen, Closure, package_lines
from envbuilder.lock.resolve.resolver import Resolution

SHIPPED_SCHEMA = 1
_HEADER = (
    "# The files that this row installs: name, version, sha256, file, bytes. Written by `envbuilder catalog prove`.\n"
)


class ShippedClosures(Protocol):
    """Source of shipped closures."""

    def find(self, row: str, request: Resolution) -> Closure | None:
        """Return the closure for a request; None if none is shipped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureFolder:
    """Closures in a directory of matrices.

    Attributes:
        folder: Holds `ID.yaml`.
    """

    folder: Path

    def find(self, row: str, request: Resolution) -> Closure | None:
        """See `ShippedClosures.find`."""
        asked = request_digest(request)
        return next((each for each in self.read(row) if asked in dict(each.answers).values()), None)

    def read(self, row: str) -> tuple[Closure, ...]:
        """Return all closures of an environment, in file order; empty if none is shipped.

        Raises:
            InvalidInput: The file is invalid.
        """
        path = self.folder / f"{row}.yaml"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                (Fault(file=str(path), line=0, field="", problem=f"cannot be read: {error}"),)
            ) from error
        return load_closures(text, str(path), row)


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
    document: dict[str, Plain] = {
        "schema": SHIPPED_SCHEMA,
        "id": row,
        "closures": [
            {
                "python": str(closure.python),
                "answers": [{"base": base, "request": request} for base, request in closure.answers],
                "packages": [_line(each) for each in closure.packages],
                "build": [_line(each) for each in closure.build],
            }
            for closure in closures
        ],
    }
    return _HEADER + canonical(document)


def load_closures(text: str, file: str, row: str) -> tuple[Closure, ...]:
    """Read `locks/ID.yaml`.

    Raises:
        InvalidInput: With every fault.
    """
    reader = Reader(file)
    root = reader.document(text)
    if root.integer("schema") != SHIPPED_SCHEMA:
        root.fault("schema", f"must be {SHIPPED_SCHEMA}")
    if root.text("id") != row:
        root.fault("id", f"must be the name of the file, {row!r}")
    closures = tuple(_closure(each) for each in root.children("closures", required=True))
    reader.finish()
    return closures


def _closure(fields: Fields) -> Closure:
    return Closure(
        python=fields.release("python"),
        answers=tuple(
            (each.text("base"), each.value("request", sha256_digest, fallback=""))
            for each in fields.children("answers", required=True)
        ),
        packages=fields.texts("packages", _chosen, required=True),
        build=fields.texts("build", _chosen),
    )


def _line(chosen: Chosen) -> str:
    return " ".join((*package_lines((chosen,)), *([str(chosen.size)] if chosen.size else [])))


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
