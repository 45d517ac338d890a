"""Adapters for locking: the sources of bases, interpreters and packages."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.http.trust import ca_bundle
from envbuilder.core.image_paths import privileged_allowed
from envbuilder.core.references import ImageRef
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.image.base.installed_pythons import installed_pythons
from envbuilder.image.base.locate import DebBases, PythonArchives, keep_archive
from envbuilder.image.base.python_archive import pack
from envbuilder.image.base.python_survey import PythonArchive
from envbuilder.image.base.uv_tool import find_uv, uv_pin
from envbuilder.image.docker.os_packages import OsPackageResolver
from envbuilder.image.docker.registry_bases import RegistryBases
from envbuilder.lock.create import IngredientSources
from envbuilder.lock.resolve.apt import AptResolver
from envbuilder.lock.spec import Spec
from envbuilder.oci.registry.pull import find
from envbuilder.wiring.build_inputs import engine_bases, pinned_files
from envbuilder.wiring.mirrors import configured_archives, registry_mirror
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.sources import (
    debian_trees,
    fetch_python,
    host_programs,
    package_resolver,
    package_sizes,
    registry_client,
)


def ingredient_sources(session: Session, spec: Spec, *, seconds: float = TIME_LIMIT) -> IngredientSources:
    """Return the sources that locking a spec reads from this machine and from the network.

    `seconds` is the time for one resolution of packages.
    """
    settings, sources = session.settings, spec.sources
    trees = DebBases(
        store=session.trees,
        make=lambda system, sources: debian_trees(session, sources).unpack(system),
        keep=lambda system, tree, allowed: debian_trees(session, sources).keep(system.kind, tree, allowed),
        allowed=privileged_allowed(spec.allow),
    )
    return IngredientSources(
        bases={
            BaseKind.IMAGE: RegistryBases(
                engine=session.engine,
                ask=partial(_registry_digest, settings),
                mirror=registry_mirror(settings, sources),
            ),
            BaseKind.DEBIAN: trees,
            BaseKind.UBUNTU: trees,
        },
        pythons=PythonArchives(
            store=session.files,
            fetch=partial(fetch_python, session),
            installed=lambda version, glibc: tuple(installed_pythons(version, glibc, host_programs(settings))),
            configured=configured_archives(settings),
        ),
        os_packages=OsPackageResolver(
            bases=engine_bases(session, sources),
            apt=AptResolver(run=session.engine.run, ca_bundle=ca_bundle(settings.environ), proxies=settings.proxies),
        ),
        shipped=closures(settings, session.catalog),
        packages=session.resolutions.of(package_resolver(settings, sources, seconds=seconds), sources),
        sizes=package_sizes(session, sources),
        tools=(*pinned_files(session).own_pins(), uv_pin(find_uv(), session.files, host_programs(settings))),
    )


def _registry_digest(settings: Settings, reference: ImageRef) -> str:
    with registry_client(settings)() as client:
        return find(client, reference).manifest.descriptor.digest


def pack_python(session: Session, interpreter: Path, folder: Path) -> PythonArchive:
    """Pack an interpreter of this machine into a directory, and keep the archive in the cache."""
    archive = pack(interpreter, folder, host=host_programs(session.settings))
    keep_archive(session.files, archive.path)
    return archive
