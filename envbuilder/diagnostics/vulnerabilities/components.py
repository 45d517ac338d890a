"""Packages of a lock as vulnerability databases name them, and the parts of an image that no database can list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.catalog.environments import PythonProvider
from envbuilder.diagnostics.vulnerabilities.documents import PYPI
from envbuilder.image.attestation.os_packages import release_of, source_of
from envbuilder.lock.lock import Lock, OsPackagePin, PackageGroup

_REBUILD = re.compile(r"\+b[0-9]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A Python distribution, or a source package of the operating system.

    Attributes:
        ecosystem: Such as `PyPI`, `Debian:12` or `Ubuntu:20.04:LTS`.
        name: Name in that ecosystem.
        packages: OS packages that are built from it, sorted; empty for a Python distribution.
        group: Layer of a Python distribution; None for an OS package.
    """

    ecosystem: str
    name: str
    version: str
    packages: tuple[str, ...] = ()
    group: PackageGroup | None = None

    @property
    def is_python(self) -> bool:
        """True for a Python distribution."""
        return self.ecosystem == PYPI


def inventory(lock: Lock) -> tuple[Component, ...]:
    """Return the packages that the image of a lock contains, as far as databases can list them; by ecosystem and name.

    The version of a source package is that of its OS packages, without the suffix of a rebuild (`+b1`). The few
    packages with versions of their own, such as those of gcc-defaults, are compared by these.
    """
    python = [
        Component(ecosystem=PYPI, name=pin.name, version=pin.version, group=pin.group)
        for pin in lock.packages
        if pin.group.is_installed
    ]
    return tuple(sorted((*_os_components(lock), *python), key=lambda each: (each.ecosystem, each.name)))


def _os_components(lock: Lock) -> Iterator[Component]:
    ecosystem = release_of(lock.base).ecosystem
    built: dict[tuple[str, str], set[str]] = {}
    for pin in _os_pins(lock) if ecosystem else ():
        if pin.version:
            built.setdefault((source_of(pin), _REBUILD.sub("", pin.version)), set()).add(pin.name)
    for (name, version), packages in built.items():
        yield Component(ecosystem=ecosystem, name=name, version=version, packages=tuple(sorted(packages)))


def _os_pins(lock: Lock) -> tuple[OsPackagePin, ...]:
    return (*lock.base.packages, *lock.os_packages)


def left_out(lock: Lock) -> Iterator[str]:
    """Yield the parts of the image of a lock that no database can list, each with the reason."""
    base = lock.base
    pins = _os_pins(lock)
    if not base.packages:
        yield f"{base.image or base.id}: the lock does not name the packages inside the base"
    if pins and not release_of(base).ecosystem:
        yield f"{len(pins)} OS packages: the release of the distribution of {base.id} is not known"
    elif loose := [pin.name for pin in pins if not pin.version]:
        yield f"{', '.join(loose)}: the lock does not pin a version"
    if lock.python.provider is PythonProvider.ARCHIVE:
        yield f"Python {lock.python.version}: OSV has no ecosystem for CPython archives"
    yield from (f"{archive.file}: OSV has no ecosystem for vendor archives" for archive in lock.archives)
    if lock.files:
        yield f"{len(lock.files)} own files: their origin is not known"
