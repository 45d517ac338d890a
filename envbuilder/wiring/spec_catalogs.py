"""The catalogs that the specs of a command line name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import UsageError
from envbuilder.lock.layered_specs import named_catalogs
from envbuilder.lock.lockfile import LOCK
from envbuilder.lock.targets import beside_lock
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.settings import Settings


def catalog_of_spec(here: Settings, spec: Path, progress: Callable[[str], None]) -> Catalog:
    """Return the environments of envbuilder, and of the catalogs that a spec names, else of those of this host.

    Raises:
        InvalidInput: The spec or a catalog is invalid.
        UsageError: There is no such spec.
    """
    return known_catalog(here, named_catalogs(spec), progress=progress)


def catalog_of_targets(here: Settings, targets: Iterable[str | None], progress: Callable[[str], None]) -> Catalog:
    """Return the environments for arguments ENV|LOCK; see `catalog_of_spec`.

    None stands for the lock in the current directory.

    Raises:
        UsageError: The specs of two locks name different catalogs.
        InvalidInput: A spec or a catalog is invalid.
    """
    specs = tuple(dict.fromkeys(spec for target in targets if (spec := _spec(target))))
    named = {spec: catalogs for spec in specs if (catalogs := named_catalogs(spec))}
    if len({*named.values()}) > 1:
        files = " and ".join(map(str, named))
        raise UsageError(f"{files} name different catalogs", hint="run the command for each of them")
    return known_catalog(here, next(iter(named.values()), ()), progress=progress)


def _spec(target: str | None) -> Path | None:
    path = LOCK if target is None else Path(target)
    path = path / LOCK if path.is_dir() else path
    return beside_lock(path) if path.is_file() else None
