"""Lists of the files that are fetched first when a container starts before its image is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from envbuilder.core import structure
from envbuilder.core.field_types import exactly
from envbuilder.core.files import read_text
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured
from envbuilder.lock.lock import PrioritizedFiles

_SCHEMA = 1
_HEADER = "# Written by `envbuilder run --record-reads`: files that the command opened, by layer.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritizedDocument:
    """Content of a list."""

    schema: Annotated[int, exactly(_SCHEMA)]
    layers: PrioritizedFiles


def dump_prioritized(files: PrioritizedFiles) -> str:
    """Return the canonical text of a list."""
    return _HEADER + canonical(structure.dump(PrioritizedDocument(schema=_SCHEMA, layers=files)))


def load_prioritized(text: str, file: str) -> PrioritizedFiles:
    """Read a list.

    Raises:
        InvalidInput: With every fault.
    """
    return structured(PrioritizedDocument, read(text, file), file).layers


def named_list(source: str, folder: Path) -> PrioritizedFiles:
    """Return the list that a spec names.

    Args:
        source: Its path, relative to the directory of the spec.
        folder: That directory. A spec may come from an untrusted author: lists outside of it are refused.

    Raises:
        ValueError: There is no such file below the directory.
        InvalidInput: It is not a list.
    """
    place = folder / source
    is_outside = PurePosixPath(source).is_absolute() or not place.resolve().is_relative_to(folder.resolve())
    if is_outside:
        raise ValueError(f"{source} is outside the directory of the spec: copy it there and use the copy")
    if not place.is_file():
        raise ValueError(f"file not found: {place}")
    return load_prioritized(read_text(place), str(place))
