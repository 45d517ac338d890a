"""Adapters of `catalog prove`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from envbuilder.catalog.archives import ArchivedLibrary, ArchivePin
from envbuilder.catalog.cuda import Linkage
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.references import TeamCatalog
from envbuilder.curation.proof.bare_environments import BareEnvironments
from envbuilder.curation.proof.interpreters import HostPythons
from envbuilder.curation.prove import ProofPorts
from envbuilder.curation.prove_image import ImageProof
from envbuilder.curation.stand_ins.replacement import Replaced, StandIns
from envbuilder.diagnostics.checks.results import Report
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.interpreters import probe_python
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.validate import Validation, validate
from envbuilder.image.builder import BuildOptions, ImageRequest
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.image.vendor.placement import library_path
from envbuilder.lock.create import lock
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.lock.publishers import EVERY, place_of
from envbuilder.lock.spec import Spec
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import reported
from envbuilder.wiring.build_inputs import package_files
from envbuilder.wiring.engines import docker_builder
from envbuilder.wiring.ingredients import ingredient_sources
from envbuilder.wiring.recording import records_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.sources import package_resolver, package_sizes, publisher_places, uv_settings

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class ProofAdapters:
    """Adapters of one run of `catalog prove`.

    Attributes:
        pythons: Directories with interpreters that the user names.
    """

    session: Session
    sources: Sources
    pythons: tuple[Path, ...]

    @cached_property
    def environments(self) -> BareEnvironments:
        """Bare environments, in a directory of their own below the cache."""
        settings = self.session.settings
        work = settings.use("work") / f"proving-{os.getpid()}"
        search = tuple(Path(entry) for entry in settings.environ.get("PATH", "").split(os.pathsep) if entry)
        return BareEnvironments(
            pythons=HostPythons(folders=self.pythons, search=search, environ=settings.environ),
            look=self._look,
            uv=replace(uv_settings(settings, self.sources), cache=work / "uv"),
            work=work,
        )

    def ports(self, team: TeamCatalog | None = None) -> ProofPorts:
        """Return the ports of `prove`.

        The catalog of the team receives the results; None for that of envbuilder.
        """
        session = self.session
        settings = session.settings
        records = records_of(settings, team)
        return ProofPorts(
            tables=session.catalog.cuda,
            shipped=closures(settings, session.catalog),
            resolver=package_resolver(settings, self.sources),
            measure=package_sizes(session, self.sources),
            host=self.environments,
            image=ImageProof(
                shipped=closures(settings, session.catalog),
                engine=self,
                stand_ins=self._stand_ins,
                records=records,
                today=datetime.now(tz=UTC).date(),
            ),
            records=records,
            today=datetime.now(tz=UTC).date(),
            clock=time.monotonic,
            progress=session.progress,
        )

    def _look(self, python: Path) -> Facts:
        environ = bare_environ(self.session.settings.environ, home=python.parent)
        return probe_python(python, ProbeRequest(), environ=environ)

    def _stand_ins(self, row: Environment, made: Lock) -> Replaced:
        settings = self.session.settings
        work = settings.use("work")
        work.mkdir(parents=True, exist_ok=True)
        maker = StandIns(
            wheel=self._framework_wheel,
            is_available=self._is_available,
            keep=self.session.store.put,
            work=work,
            search_path=settings.environ.get("PATH", ""),
        )
        return maker.replace(made, driver=row.cuda is not None and row.cuda.linkage is Linkage.NEEDED)

    def _framework_wheel(self, made: Lock) -> Path:
        """Return the TensorFlow wheel of a lock, after it was fetched."""
        store = self.session.store
        [pin] = made.group(PackageGroup.FRAMEWORK)
        digest = f"sha256:{pin.sha256}"
        if not store.has(digest):
            files = package_files(self.session, self.sources)
            for file in files.locate([pin], made.python.version.series):
                files.fetch(file, reported(self.session.listener, file.file))
        return store.verified(digest)

    def _is_available(self, pin: ArchivePin, library: ArchivedLibrary) -> bool:
        """Return True if a library is in the store, or its archive there, on the package index, or in a named place."""
        store, facts = self.session.store, self.session.catalog.archives
        places = publisher_places(self.session, self.sources)
        if EVERY in places or pin.publisher in places or not place_of(pin.publisher, places, facts):
            return True
        return any(store.has(f"sha256:{sha256}") for sha256 in (pin.sha256, library.sha256) if sha256)

    def lock(self, spec: Spec) -> Lock:
        """See `ProofEngine.lock`."""
        session = self.session
        return lock(session.catalog, spec, ingredient_sources(session, spec), progress=session.progress)

    @contextmanager
    def built(self, made: Lock, tag: str) -> Iterator[None]:
        """See `ProofEngine.built`."""
        request = ImageRequest(lock=made, sources=self.sources, names=(tag,))
        docker_builder(self.session).build((request,), BuildOptions(), self.session.listener)
        try:
            yield
        finally:
            self.session.engine.untag(tag)

    def validate(self, wanted: Validation, made: Lock) -> Report:
        """See `ProofEngine.validate`."""
        return validate(self.session.catalog, wanted, made, self.session.engine, time.monotonic)


def bare_environ(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """Return environment variables for a program without access to GPUs and to the user's own Python.

    Keras writes into the home directory, so that is replaced too.
    """
    kept = {name: environ[name] for name in _PASSED_ON if name in environ}
    return {**kept, "HOME": str(home), "CUDA_VISIBLE_DEVICES": "-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArchives:
    """Vendor archives in the store, fetched from their publishers."""

    archives: VendorArchives
    store: Store

    def fetch(self, pin: ArchivePin) -> int:
        """See `OpenArchives.fetch`."""
        digest = f"sha256:{pin.sha256}"
        if not self.store.has(digest):
            self.archives.files.fetch(pin, reported(self.archives.listener, pin.file))
        return self.store.verified(digest).stat().st_size

    def take(self, pin: ArchivePin) -> Mapping[str, str]:
        """See `OpenArchives.take`."""
        files = self.archives.libraries(pin)
        return {each.path: files[library_path(each)].digest.removeprefix("sha256:") for each in pin.libraries}

    def open(self, sha256: str) -> BinaryIO:
        """See `OpenArchives.open`."""
        return self.store.verified(f"sha256:{sha256}").open("rb")
