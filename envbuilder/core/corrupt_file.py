"""Errors for damaged files of a wheel."""

from __future__ import annotations

from envbuilder.core.errors import Fault, InvalidInput


class Damaged(Exception):
    """Content violates its file format; becomes `InvalidInput` where file and member are known."""


_FETCH_AGAIN = "compare its sha256 with the index's, and fetch it again"


def invalid(file: str, member: str, problem: str, *, hint: str = _FETCH_AGAIN) -> InvalidInput:
    """Return the error for a wheel that cannot be read.

    Args:
        file: The wheel.
        member: The file in it; empty for the wheel itself.
        problem: The problem.
        hint: Remedy.
    """
    return InvalidInput((Fault(file=file, line=0, field=member, problem=problem),), hint=hint)
