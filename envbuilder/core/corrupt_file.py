"""What is wrong with a file that was taken apart, and how that is told."""

from __future__ import annotations

from envbuilder.core.errors import Fault, InvalidInput


class Damaged(Exception):
    """Something is not what its format says; becomes `InvalidInput` where file and member are known."""


_FETCH_AGAIN = "compare its sha256 with the index's, and fetch it again"


def invalid(file: str, member: str, problem: str, *, hint: str = _FETCH_AGAIN) -> InvalidInput:
    """The error for a wheel that cannot be read.

    Args:
        file: The wheel.
        member: The file in it; empty when the wheel itself is meant.
        problem: What is wrong.
        hint: What to do about it.
    """
    return InvalidInput((Fault(file=file, line=0, field=member, problem=problem),), hint=hint)
