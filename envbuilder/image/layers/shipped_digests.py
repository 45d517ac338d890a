"""Layers of wheels in the catalog: their digests are known without unpacking a wheel.

`matrices/layers.yaml`: key, digest of the blob, its bytes, diff id, and required libraries of the OS. The digests
are verified: a layer with another digest is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from envbuilder.core.digests import is_digest
from envbuilder.core.field_rules import Parsed
from envbuilder.core.field_types import exactly
from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import LayerRecord

SCHEMA = 1
_HEADER = "# Layers of wheels: key, digest, bytes, diff id, OS libraries. Written by `python -m tools.layers`.\n"


@dataclass(frozen=True)
class ShippedLayers:
    """Records of a `layers.yaml`, which is read on first use.

    Attributes:
        file: Its path; need not exist.
    """

    file: Path

    def find(self, key: str) -> LayerRecord | None:
        """Return the record of a layer; None if there is none."""
        return self._records.get(key)

    @cached_property
    def _records(self) -> Mapping[str, LayerRecord]:
        return load_layers(self.file.read_text(encoding="utf-8"), str(self.file)) if self.file.is_file() else {}


def load_layers(text: str, file: str) -> dict[str, LayerRecord]:
    """Return the records of a file by key.

    Raises:
        InvalidInput: The file has errors; all are reported.
    """
    return dict(structured(_Document, read(text, file), file).layers)


def dump_layers(records: Mapping[str, LayerRecord], os_libraries: Iterable[str]) -> str:
    """Return the canonical text; of the required libraries only those of the OS are kept."""
    known = frozenset(os_libraries)
    lines: list[Plain] = []
    for key, record in sorted(records.items()):
        packed = record.packed
        needs = ",".join(sorted(known.intersection(record.needs))) or "-"
        lines.append(f"{_short(key)} {_short(packed.digest)} {packed.size} {_short(packed.diff_id)} {needs}")
    return _HEADER + canonical({"schema": SCHEMA, "layers": lines})


def _record(line: str) -> tuple[str, LayerRecord]:
    parts = line.split(" ")
    digests = [f"sha256:{parts[number]}" for number in (0, 1, 3)] if len(parts) == 5 else []
    if not digests or not all(is_digest(digest) for digest in digests) or not parts[2].isdigit():
        raise ValueError("must be `key digest bytes diff_id libraries`")
    key, digest, diff_id = digests
    needs = () if parts[4] == "-" else tuple(parts[4].split(","))
    return key, LayerRecord(packed=Packed(digest=digest, size=int(parts[2]), diff_id=diff_id), needs=needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: Annotated[int, exactly(SCHEMA)]
    layers: tuple[Annotated[tuple[str, LayerRecord], Parsed(_record)], ...]


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")
