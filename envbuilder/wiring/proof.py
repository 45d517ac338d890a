"""The composition of `prove`: which adapter stands behind which of its ports."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.curation.proof.bare_environments import BareEnvironments
from envbuilder.curation.proof.interpreters import HostPython, HostPythons
from envbuilder.curation.proof.records import Records
from envbuilder.curation.prove import ProofPorts
from envbuilder.curation.prove_image import ImageProof
from envbuilder.diagnostics.checks.findings import Report
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.interpreters import probe_python
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.report.registry import format_named
from envbuilder.diagnostics.validate import Validation, validate
from envbuilder.image.builder import BuildOptions, ImageRequest
from envbuilder.image.container_engine import Listener
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock, Sources, Spec
from envbuilder.wiring.adapters import Composition
from envbuilder.wiring.engines import docker_builder
from envbuilder.wiring.recording import records_of

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Proving:
    """Adapters of one run of `prove`.

    Attributes:
        composition: Those that it shares with the other verbs.
        sources: Where to fetch from.
        pythons: Folders with interpreters that the user names.
        listener: Told about builds.
    """

    composition: Composition
    sources: Sources
    pythons: tuple[Path, ...]
    listener: Listener

    @cached_property
    def environments(self) -> BareEnvironments:
        """Bare environments, in a folder of their own below the cache."""
        settings = self.composition.settings
        work = settings.use("work") / f"proving-{os.getpid()}"
        return BareEnvironments(uv=replace(self.composition.uv_settings(self.sources), cache=work / "uv"), work=work)

    def ports(self) -> ProofPorts:
        """What `workflows.prove` needs of the world."""
        composition = self.composition
        records = records_of(composition.settings)
        return ProofPorts(
            tables=composition.catalog.cuda,
            shipped=composition.closures,
            resolver=composition.resolver(self.sources),
            measure=lambda chosen, python: composition.lengths(chosen, python, self.sources),
            find_python=self._find_python,
            environments=self.environments,
            look=self._look,
            image=self._image(records),
            records=records,
            write_report=_as_text,
            today=datetime.now(tz=UTC).date(),
            clock=time.monotonic,
            notice=composition.say,
        )

    @cached_property
    def _interpreters(self) -> HostPythons:
        environ = self.composition.settings.environ
        search = tuple(Path(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry)
        return HostPythons(folders=self.pythons, search=search, environ=environ)

    def _find_python(self, _row: Environment, choice: BaseChoice) -> HostPython | None:
        return self._interpreters.find(choice.python)

    def _look(self, python: Path) -> Facts:
        environ = bare_environ(self.composition.settings.environ, home=python.parent)
        return probe_python(python, ProbeRequest(), environ=environ)

    def _image(self, records: Records) -> ImageProof:
        composition = self.composition
        return ImageProof(
            shipped=composition.closures,
            lock=self._lock,
            build=self._build,
            validate=lambda wanted, made: _validated(composition, wanted, made),
            remove=composition.engine.untag,
            keep=lambda row, name, report: records.report(row.id, name, _as_text(report)),
            today=datetime.now(tz=UTC).date(),
        )

    def _lock(self, spec: Spec) -> Lock:
        return lock(self.composition.catalog, spec, self.composition.lock_ports(spec))

    def _build(self, made: Lock, tag: str) -> None:
        request = ImageRequest(lock=made, sources=self.sources, names=(tag,))
        docker_builder(self.composition).build((request,), BuildOptions(), self.listener)


def bare_environ(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """The environment of a program that must see neither a GPU nor anything of the user's own Python.

    Keras writes into the home folder; that is not the user's either.
    """
    kept = {name: environ[name] for name in _PASSED_ON if name in environ}
    return {**kept, "HOME": str(home), "CUDA_VISIBLE_DEVICES": "-1"}


def _validated(composition: Composition, wanted: Validation, made: Lock) -> Report:
    return validate(composition.catalog, wanted, made, composition.engine, time.monotonic)


def _as_text(report: Report) -> str:
    return format_named("json").write(report)
