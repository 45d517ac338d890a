"""Texts of a cause and its remedy."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.environments import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The problem and the remedy of one cause.

    Attributes:
        cause: One or two sentences.
        fix: One or two sentences.
        commands: To type, in order.
    """

    cause: str
    fix: str
    commands: tuple[str, ...]


def build(row: Environment) -> str:
    """Return the command that builds an environment."""
    return f"envbuilder build {row.id}{row.bases[0].build_options}"


def listed(rows: tuple[Environment, ...]) -> str:
    """Return the ids of consecutive rows: one, or the first and the last.

    Example:
        >>> from types import SimpleNamespace as Row
        >>> listed((Row(id="tf-1.5-cuda9.0"), Row(id="tf-1.6-cuda9.0"), Row(id="tf-1.7-cuda9.0")))
        'tf-1.5-cuda9.0 to tf-1.7-cuda9.0'
    """
    return rows[0].id if len(rows) == 1 else f"{rows[0].id} to {rows[-1].id}"
