"""Storage of proofs: evidence, reports and closures in a directory of matrices."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.files import replacing


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFiles:
    """A writable directory of matrices."""

    matrices: Path

    def refuse_unwritable(self) -> None:
        """Raise UsageError if proofs cannot be stored, before they are made.

        Raises:
            UsageError: The directory cannot be written.
        """
        if not os.access(self.matrices, os.W_OK):
            raise UsageError(
                f"{self.matrices} is not writable: results could not be recorded",
                hint="copy it, then `export ENVBUILDER_MATRICES=DIR`",
            )

    def environment_path(self, row: str) -> Path:
        """Return the path of the file of a row."""
        return self.matrices / "environments" / f"{row}.yaml"

    @property
    def libraries_path(self) -> Path:
        """Path of the file of the library sets."""
        return self.matrices / "libraries.yaml"

    @property
    def archives_path(self) -> Path:
        """Path of the file of the vendor archives."""
        return self.matrices / "archives.yaml"

    def write(self, path: Path | str, text: str) -> None:
        """Write a file atomically, if its content changes.

        Args:
            path: In the directory, or relative to it.
            text: The content.
        """
        place = self.matrices / path
        if place.is_file() and place.read_bytes() == text.encode():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as stream:
            stream.write(text.encode())

    def write_evidence(self, row: str, text: str) -> None:
        """Write the evidence of a row."""
        self.write(f"evidence/{row}.yaml", text)

    def write_closures(self, row: str, text: str) -> None:
        """Write the closures that a row ships with."""
        self.write(f"locks/{row}.yaml", text)

    def drop_reports(self, row: str, named: Iterable[str]) -> None:
        """Remove the reports of a row that its evidence does not name."""
        folder = self.matrices / "evidence" / "reports"
        kept = set(named)
        for path in sorted((folder / row).glob("*.json")):
            if str(path.relative_to(folder)) not in kept:
                path.unlink()

    def write_report(self, row: str, name: str, text: str) -> str:
        """Write a report; return its path under `evidence/reports/`."""
        relative = f"{row}/{name}.json"
        self.write(f"evidence/reports/{relative}", text)
        return relative
