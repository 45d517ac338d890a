"""Comparison of documents: facts and locks."""

from __future__ import annotations

from envbuilder.catalog.environments import Catalog
from envbuilder.diagnostics.compare.compare import compare
from envbuilder.diagnostics.compare.comparison import Comparison, Side
from envbuilder.diagnostics.compare.sides import side_of_facts, side_of_lock
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.lock.lock import Lock


def compare_two(catalog: Catalog, a: tuple[str, Facts | Lock], b: tuple[str, Facts | Lock]) -> Comparison:
    """Return the differences between two machines, environments or locks; errors as in `compare`.

    Args:
        catalog: The rows.
        a: Name and content of the first.
        b: Name and content of the second.
    """
    return compare(catalog, _side(*a), _side(*b))


def _side(name: str, content: Facts | Lock) -> Side:
    return side_of_facts(content, name) if isinstance(content, Facts) else side_of_lock(content, name)
