"""The catalogs that tests read: a small one made for them, and the product's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import find
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import load

ROOT = Path(__file__).parents[2]
MATRICES = ROOT / "matrices"
TEMPLATES = ROOT / "templates"
DATA = ROOT / "tests" / "data"


@cache
def small_catalog() -> Catalog:
    """Three rows with every kind of base and provider."""
    return load_catalog(DATA / "catalog")


@cache
def real_catalog() -> Catalog:
    """What users get."""
    return load_catalog(MATRICES)


def small_row(name: str) -> Environment:
    return find(small_catalog(), name)


def real_row(name: str) -> Environment:
    return find(real_catalog(), name)


@cache
def good_lock() -> Lock:
    """A lock of the small catalog's tf-2.4-cuda11.0 on its Debian base, with everything that a spec can ask for."""
    return load((DATA / "good.lock").read_text(encoding="utf-8"), "good.lock")
