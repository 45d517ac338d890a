"""The environment that a lock was made for; it may be one of a catalog that is not available."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.selection import select
from envbuilder.core.errors import UnknownEnvironment, UsageError
from envbuilder.lock.lock import CatalogPin, Lock


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
