"""Comparison of a lock with its current spec and environment."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.selection import select
from envbuilder.lock.diff import Change, changed_inputs
from envbuilder.lock.inputs import UPGRADED, inputs
from envbuilder.lock.lock import Lock
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.spec_values import Spec


def staleness(catalog: Catalog, spec: Spec, existing: Lock) -> tuple[Change, ...]:
    """Return the changes in environment and spec since a lock was made; empty if it is up to date.

    A lock made with an upgrade is compared with the same upgrade.
    """
    row = row_of(catalog, spec, upgraded(existing))
    choice = next((choice for choice in row.bases if choice.system.id == existing.base.id), None)
    if choice is not None and spec.python is not None:
        choice = replace(choice, python=spec.python)
    driver = catalog.driver_floor(row, choice) if choice else None
    renamed = (Change(field="spec.name", old=existing.name, new=spec.name),) if existing.name != spec.name else ()
    return (*changed_inputs(existing, dict(inputs(row, choice, spec, driver))), *renamed)


def out_of_date(path: Path) -> str:
    """Return the sentence before the list of changes of a lock."""
    return f"{path} is out of date; changed since it was created:"


def as_shipped(catalog: Catalog, spec: Spec, existing: Lock, shipped: ShippedClosures) -> bool:
    """Return True if a lock without own packages has the files that are shipped with its environment now."""
    row = row_of(catalog, spec, upgraded(existing))
    choice = next((choice for choice in row.bases if choice.system.id == existing.base.id), None)
    closure = shipped.find(row.id, row_request(row, choice)) if choice else None
    if closure is None:
        return True
    locked = {(pin.name, pin.sha256) for pin in existing.packages if pin.group.is_installed}
    return locked == {(each.name, each.sha256) for each in closure.packages}


def upgraded(existing: Lock) -> date | None:
    """Return the day of a lock's upgrade; None if its packages are those of the environment."""
    day = dict(existing.inputs).get(UPGRADED)
    try:
        return date.fromisoformat(day) if day else None
    except ValueError:
        return None  # The file was edited by hand; the lock is then reported as stale.


def row_of(catalog: Catalog, spec: Spec, upgrade: date | None) -> Environment:
    """Return the environment of a spec, with its packages moved to a day if one is given."""
    row = select(catalog, spec.environment, spec.tensorflow)
    return replace(row, cutoff=upgrade, upgraded=True) if upgrade else row
