"""Remedies if no base of an environment is available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from envbuilder.catalog.buildable import (
    Buildability,
    Buildable,
    Inventory,
    buildable,
    nearest_buildable,
    on_base,
)
from envbuilder.catalog.environments import Catalog, Environment, PythonProvider
from envbuilder.core.errors import NoUsableBase


def explained(error: NoUsableBase, catalog: Catalog, row: Environment, available: Inventory) -> NoUsableBase:
    """Return the error with the catalog's knowledge of the refused bases."""
    bases = {choice.system.id: _base_alone(row, choice.system.id, available) for choice in row.bases}
    reasons = ((base, dict.fromkeys((*bases[base].reasons, reason))) for base, reason in error.refusals)
    refusals = tuple((base, "; ".join(several)) for base, several in reasons)
    hint = _of_the_least(tuple(bases[base] for base, _ in error.refusals), error.hint)
    near = _instead(catalog, row, _without_standalone(error, row, bases, available))
    return NoUsableBase(row.id, refusals, hint=f"{near}; for {row.id} itself: {hint}" if near else hint)


def _of_the_least(refused: tuple[Buildable, ...], seen: str) -> str:
    """Return the hint for the base with the smallest obstacle, the last of several.

    Args:
        refused: What is known of each refused base without its interpreter.
        seen: The hint of the failed attempt, which is about an interpreter if the base may be available.
    """
    least = min(reversed(refused), key=lambda each: each.verdict.rank)
    match least.verdict:
        case Buildability.NO:
            return least.hint
        case Buildability.UNKNOWN if least.hint not in seen:
            return f"{seen}; then {least.hint}"
        case _:
            return seen


def _without_standalone(
    error: NoUsableBase, row: Environment, bases: Mapping[str, Buildable], available: Inventory
) -> Inventory:
    """Return the inventory; without standalone interpreters if the search for one just failed."""
    for choice in row.bases:
        refused = any(base == choice.system.id for base, _ in error.refusals)
        base_is_there = bases[choice.system.id].verdict is Buildability.YES
        if refused and base_is_there and choice.python_provider is PythonProvider.ARCHIVE:
            return replace(available, standalone=Buildability.NO)
    return available


def _base_alone(row: Environment, base: str, available: Inventory) -> Buildable:
    """Return the buildability of a base without its interpreter, which is the smaller obstacle."""
    choice = next(choice for choice in row.bases if choice.system.id == base)
    return on_base(row, replace(choice, python_provider=PythonProvider.OS), available)


def _instead(catalog: Catalog, row: Environment, available: Inventory) -> str:
    """Return commands that build the nearest environments; empty if none is certain to be buildable."""
    near = [
        each
        for each in nearest_buildable(catalog, row, available)
        if buildable(each, available).verdict is Buildability.YES
    ]
    commands = " or ".join(f"`envbuilder build {each.id}`" for each in near)
    what = "the nearest environment" if len(near) == 1 else "the nearest environments"
    return f"{commands}, {what} that can be built here" if near else ""
