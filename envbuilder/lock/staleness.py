"""Comparison of a lock with its current spec and environment."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.selection import select
from envbuilder.core.errors import UnknownEnvironment, UsageError
from envbuilder.lock.diff import LockChange, changed_inputs
from envbuilder.lock.inputs import UPGRADED, inputs
from envbuilder.lock.lock import CatalogPin, Lock, PackageGroup
from envbuilder.lock.profiles import chosen_profiles, profile_inputs
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.spec import Spec


def staleness(catalog: Catalog, spec: Spec, existing: Lock) -> tuple[LockChange, ...]:
    """Return the changes in environment and spec since a lock was made; empty if it is up to date.

    A lock made with an upgrade is compared with the same upgrade.

    Raises:
        UsageError: The environment is from the catalog of a team, which this command did not read.
        UnknownEnvironment: There is no such environment.
    """
    try:
        row = row_of(catalog, spec, upgraded(existing))
    except UnknownEnvironment as error:
        if existing.catalog and spec.environment == existing.environment:
            raise unread_catalog(existing, existing.catalog) from error
        raise
    choice = next((choice for choice in row.bases if choice.system.id == existing.base.id), None)
    if choice is not None and spec.python is not None:
        choice = row.with_python(choice, spec.python)
    driver = catalog.driver_floor(row, choice) if choice else None
    renamed = (LockChange(field="spec.name", old=existing.name, new=spec.name),) if existing.name != spec.name else ()
    profiles = profile_inputs(chosen_profiles(catalog, spec.profiles, row.framework.version))
    changed = changed_inputs(existing, dict(inputs(row, choice, spec, driver, profiles=profiles)))
    return (*_moved(catalog, existing), *changed, *renamed)


def _moved(catalog: Catalog, existing: Lock) -> tuple[LockChange, ...]:
    """Return the change of the catalog that the environment of a lock comes from; empty for none."""
    team = catalog.origin(existing.environment)
    old, new = existing.catalog.name if existing.catalog else "", team.name if team else ""
    return (LockChange(field="catalog", old=old, new=new),) if old != new else ()


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
    others = {PackageGroup.PROFILE, PackageGroup.BUILD, PackageGroup.OWN_BUILD}
    locked = {(pin.name, pin.sha256) for pin in existing.packages if pin.group not in others}
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


def environment_of(catalog: Catalog, lock: Lock) -> Environment:
    """Return the environment of a lock, with the release of TensorFlow that the lock has.

    Raises:
        UsageError: It is from the catalog of a team, which this command did not read.
        UnknownEnvironment: There is no such environment.
    """
    try:
        return select(catalog, lock.environment, Version(lock.framework_version))
    except UnknownEnvironment as error:
        if lock.catalog:
            raise unread_catalog(lock, lock.catalog) from error
        raise


def unread_catalog(lock: Lock, pin: CatalogPin) -> UsageError:
    """Return the error for an environment whose catalog is not available."""
    return UsageError(
        f"{lock.environment} is an environment of the catalog {pin}, which this command did not read",
        hint=f"name the catalog {pin.name!r} below `catalogs:` in the spec, or in ENVBUILDER_CATALOGS: "
        + (f"git+URL@{pin.commit}" if pin.commit else "its directory, or git+URL@COMMIT"),
    )
