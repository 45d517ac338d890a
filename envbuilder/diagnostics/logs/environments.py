"""Environments for a log: the one that wrote it, those that fit, and the nearest that runs and can be built."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from envbuilder.catalog.advise.advice import Advice, Query, Topic, requested_range
from envbuilder.catalog.advise.recommend import described, every
from envbuilder.catalog.buildable import buildable
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.catalog.machine import HostGpu, model_named
from envbuilder.catalog.verdicts import Fit
from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.logs.evidence import ExtractedFacts
from envbuilder.diagnostics.logs.log_facts import LogFacts

_DLL = re.compile(r"cudart64_(\d+?)(\d)\.dll")


def row_of(catalog: Catalog, extracted: ExtractedFacts) -> Environment | None:
    """Return the row of the TensorFlow that wrote the log, with CUDA; None if unknown."""
    if extracted.tensorflow is None:
        fitting = rows_that_fit(catalog, extracted)
        return fitting[-1] if fitting and len({row.cuda.compiled for row in fitting if row.cuda}) == 1 else None
    release = extracted.tensorflow.head(2)
    return next(
        (row for row in catalog.environments if row.cuda and row.framework.version.release[:2] == release), None
    )


def rows_that_fit(catalog: Catalog, extracted: ExtractedFacts) -> tuple[Environment, ...]:
    """Return rows that open all missing libraries, and whose TensorFlow writes such messages; oldest first."""
    rows = [row for row in catalog.environments if row.cuda is not None]
    fitting = (
        [row for row in rows if all(_has_library(row, soname) for soname in extracted.sonames)]
        if extracted.sonames
        else []
    )
    return tuple([row for row in fitting if _writes(row, extracted)] or fitting)


def rows_for_cuda(catalog: Catalog, cuda: Release) -> tuple[Environment, ...]:
    """Return rows whose TensorFlow was compiled with this CUDA, newest first."""
    return tuple(
        row for row in reversed(catalog.environments) if row.cuda and row.cuda.compiled.head(2) == cuda.head(2)
    )


def rows_for_python(catalog: Catalog, python: Release) -> tuple[Environment, ...]:
    """Return rows with a wheel for an interpreter, newest first."""
    return tuple(
        row for row in reversed(catalog.environments) if any(each.head(2) == python.head(2) for each in row.pythons)
    )


def bound(row: Environment, package: str) -> str:
    """Return the row's requirement for a package, such as `protobuf<3.21`; empty if it has none."""
    return next(
        (
            each.requirement
            for each in (*row.constraints, *row.additions)
            if re.match(rf"{package}\b", each.requirement)
        ),
        "",
    )


def _has_library(row: Environment, soname: str) -> bool:
    if row.cuda is None:
        return False
    return soname in row.cuda.sonames or soname in row.cuda.optional or _of_dll(soname) == row.cuda.compiled


def _of_dll(soname: str) -> Release | None:
    """Return the CUDA release in the name of a Windows runtime: 10.1 for `cudart64_101.dll`."""
    match = _DLL.fullmatch(soname)
    return release_of(f"{match[1]}.{match[2]}") if match else None


def _writes(row: Environment, extracted: ExtractedFacts) -> bool:
    release = _minor_of(row)
    return (extracted.since is None or release >= extracted.since) and (
        extracted.until is None or release <= extracted.until
    )


_FIXED = {Topic.DRIVER, Topic.GPU, Topic.PROCESSOR, Topic.KIND, Topic.BUILD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """The result of a search for an environment.

    Attributes:
        row: The nearest that can be built on this machine; None if none is left.
        nearer: One that is nearer and cannot be built on this machine; None if there is none.
        why: Reason why it cannot be built.
    """

    row: Environment | None
    nearer: Environment | None = None
    why: str = ""

    @property
    def note(self) -> str:
        """Sentence about the nearer one; empty if there is none."""
        if self.nearer is None:
            return ""
        which = f"{self.nearer.id} is nearer, but" if self.row else f"The nearest, {self.nearer.id},"
        return f" {which} cannot be built from here: {self.why}."


def nearest(
    facts: LogFacts,
    *,
    within: Collection[Release] | None = None,
    driver: bool = True,
    tensorflow: Release | None = None,
) -> Offering:
    """Return the environment with the fewest changes that runs on the machine of the log.

    Args:
        facts: The log; its driver and GPUs are taken as the machine.
        within: Minor releases of TensorFlow to choose from; None for all.
        driver: True to keep the driver of the log.
        tensorflow: The release to stay near; None for that of the log.

    Returns:
        An environment for GPUs if one is left, else one for the CPU. It is known to run on a GPU that the log names
        without compilation; uncertain ones are left out.
    """
    query = _query(facts, tensorflow or facts.extracted.tensorflow, driver=driver)
    chosen = _first(facts, replace(query, inventory=facts.inventory()), within)
    best = _first(facts, query, within)
    inventory = facts.inventory()
    if best is None or best is chosen or inventory is None or facts.can_build(best):
        return Offering(row=chosen)
    return Offering(row=chosen, nearer=best, why="; ".join(buildable(best, inventory).reasons))


def _first(facts: LogFacts, query: Query, within: Collection[Release] | None) -> Environment | None:
    """Return the nearest for GPUs, else the nearest; with an inventory in `query` only one that can be built."""
    found = [
        row
        for advice in every(facts.catalog, query)
        if _stays(advice, facts)
        and (row := facts.catalog.environment(advice.environment))
        and (within is None or _minor_of(row) in within)
    ]
    return next((row for row in found if row.cuda), found[0] if found else None)


def _query(facts: LogFacts, tensorflow: Release | None, *, driver: bool) -> Query:
    extracted = facts.extracted
    gpus = tuple(HostGpu(name="", capability=each) for each in extracted.capabilities)
    asked = requested_range(tensorflow.series, "TensorFlow") if tensorflow else None
    hosts = described(extracted.driver if driver else None, gpus)
    return Query(tensorflow=asked, hosts=hosts)


def _stays(advice: Advice, facts: LogFacts) -> bool:
    """Return True if only the environment has to change, and is known to run at once on the GPUs of the log."""
    if any(change.topic in _FIXED for change in advice.changes):
        return False
    return advice.cuda is None or not facts.extracted.capabilities or advice.fit is Fit.FITS


def _minor_of(row: Environment) -> Release:
    """Return the minor release of TensorFlow of a row."""
    return Release(f"{row.framework.version.major}.{row.framework.version.minor}")


def vendor_builds(facts: LogFacts) -> tuple[VendorBuild, ...]:
    """Return NVIDIA's own builds that cover every GPU of the log; those of the log's major release first."""
    extracted = facts.extracted
    fitting = [
        build
        for build in facts.catalog.vendor_builds
        if extracted.capabilities and all(build.oldest <= each <= build.newest for each in extracted.capabilities)
    ]
    major = extracted.tensorflow.major if extracted.tensorflow else 2
    return tuple(sorted(fitting, key=lambda build: build.tensorflow.major != major))


def vendor_note(facts: LogFacts, row: Environment | None) -> str:
    """Return a sentence about NVIDIA's own build if the catalog offers no row, or one of another major release."""
    running = facts.extracted.tensorflow
    if running is None or (row is not None and row.framework.version.major == running.major):
        return ""
    offers = [build for build in vendor_builds(facts) if build.tensorflow.major == running.major]
    if not offers:
        return ""
    return (
        f" For a program that needs TensorFlow {running.major}, NVIDIA's own container {offers[0].name} has TensorFlow"
        f" {offers[0].tensorflow} for this GPU; envbuilder does not build it."
    )


def capabilities_named(facts: CudaFacts, names: Collection[str]) -> tuple[Release, ...]:
    """Return the compute capabilities of GPUs that the log names, each once."""
    models = (model_named(facts, name) for name in names)
    return tuple(dict.fromkeys(model.capability for model in models if model is not None))


def build(row: Environment) -> str:
    """Return the command that builds an environment."""
    return f"envbuilder build {row.id}{row.bases[0].build_options}"


def listed(rows: tuple[Environment, ...]) -> str:
    """Return the ids of consecutive rows: one, or the first and the last.

    Example:
        >>> from types import SimpleNamespace as Row
        >>> listed((Row(id="tf-1.5-cuda9.0"), Row(id="tf-1.6-cuda9.0"), Row(id="tf-1.7-cuda9.0")))
        'tf-1.5-cuda9.0 to tf-1.7-cuda9.0'
    """
    return span([row.id for row in rows])


def span(entries: Sequence[object]) -> str:
    """Return consecutive entries in words: one, or the first and the last."""
    return str(entries[0]) if len(entries) == 1 else f"{entries[0]} to {entries[-1]}"
