"""Values of a document that do not match their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One value that does not match its hint.

    Attributes:
        path: Names of fields and indexes of entries, from the root of the document.
        problem: The problem.
        hint: Correct value; may be empty.
    """

    path: Path
    problem: str
    hint: str = ""

    @property
    def field(self) -> str:
        """Path as text, such as `bases[1].python`."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.removeprefix(".")


class Mismatched(ValueError):
    """A document does not match its type.

    Attributes:
        mismatches: All of them, in the order of the fields.
    """

    def __init__(self, *mismatches: Mismatch) -> None:
        super().__init__("; ".join(f"{each.field}: {each.problem}" for each in mismatches))
        self.mismatches = mismatches
