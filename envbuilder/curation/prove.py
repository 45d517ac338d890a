"""Proof of a row: lock it, install it, run it, and record the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.evidence import (
    BuiltWithStandIns,
    Documented,
    Evidence,
    Grade,
    Measured,
    ProvenImage,
    RanOnCpu,
    RanOnGpu,
    Resolved,
    Unproven,
)
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.core.errors import EngineError, EnvbuilderError, ResolutionFailed, SourceUnreachable, ToolFailed
from envbuilder.core.versions import Release
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.proof.failure_reason import first_problem, on_one_line
from envbuilder.curation.proof.interpreters import HostPython
from envbuilder.diagnostics.checks.evaluation import run_bare_checks
from envbuilder.diagnostics.checks.expectation import expect_bare
from envbuilder.diagnostics.checks.results import Report
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.report.document import json_report
from envbuilder.lock.closures import Answer, Closure, Measure, with_sizes
from envbuilder.lock.resolve.requests import build_request, row_request
from envbuilder.lock.resolve.resolver import Resolver
from envbuilder.lock.resolve.shipped_closures import ShippedClosures, dump_closures, merged, request_digest

_RUNS = (RanOnCpu, BuiltWithStandIns, ProvenImage, RanOnGpu)
_ENOUGH = {Grade.IMAGE_WITH_STAND_INS: {Grade.IMAGE_WITH_STAND_INS, Grade.IMAGE}}
"""Grades that answer a request, where it is not that grade alone."""


class BareHost(Protocol):
    """This host without containers: its interpreters, and runs of closures in environments of their own."""

    def find(self, python: Release) -> HostPython | None:
        """Return an interpreter with this major and minor version; None if there is none."""
        ...

    def run(self, python: HostPython, closure: Closure, package: str, installed: Callable[[], None]) -> Facts:
        """Install the files of a closure, run the probe without a GPU, and remove everything.

        Args:
            python: The interpreter.
            closure: The files.
            package: Distribution whose download is removed too.
            installed: Called between installation and probe.

        Raises:
            SourceUnreachable: The package index does not answer, or a file is gone.
            ToolFailed: Something cannot be installed, or the probe fails.
        """
        ...


class ImageProver(Protocol):
    """Builds and validates the image of a row, and removes it; with stand-ins only for their grade."""

    def __call__(self, row: Environment, tier: Grade) -> tuple[Evidence, Report]:
        """Return the evidence and the report behind it.

        Raises:
            EnvbuilderError: The image cannot be built, or fails its validation.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPorts:
    """The ports for proving.

    Attributes:
        measure: Returns the bytes of some files for an interpreter, in their order.
        clock: Returns seconds, monotonic.
        progress: Progress callback; receives one line of text.
    """

    tables: CudaFacts
    shipped: ShippedClosures
    resolver: Resolver
    measure: Measure
    host: BareHost
    image: ImageProver
    records: CatalogFiles
    today: date
    clock: Callable[[], float]
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """The result of proving one row.

    Attributes:
        row: The row with its evidence as it is now.
        reached: The requested grade, or `image` where no stand-in was needed; None if it is not proven.
        again: True if anything was run for it; False if valid evidence existed.
    """

    row: Environment
    reached: Grade | None
    again: bool


def prove(row: Environment, grade: Grade, ports: ProofPorts, *, again: bool = False, relock: bool = False) -> Proven:
    """Prove one row up to a grade, and record each step as soon as it is known.

    `again`: also if the evidence exists and is valid; `relock`: resolve anew instead of using the shipped closures.
    """
    closures, refused = _closures(row, ports, relock=relock)
    digests = {closure.digest for closure in closures}
    kept = tuple(entry for entry in row.evidence if _holds(entry, digests))
    proof = Proof(
        evidence=(*_without(kept, Resolved), *_resolved(closures, row, ports.today)),
        unproven=refused,
    )
    tried = proof
    if closures and (again or not _reached(proof.evidence, grade, row)):
        tried = _run(row, grade, closures, proof, ports)
    fresh = any(entry not in row.evidence for entry in proof.evidence if entry.grade is grade)
    return _keep(row, tried, grade, ports, ran=tried is not proof or fresh or bool(refused))


def recorded_proof(row: Environment, grade: Grade, shipped: ShippedClosures) -> Proven | None:
    """Return the recorded result of a row whose evidence is valid; None if `prove` would run or change something."""
    found = [shipped.find(row.id, row_request(row, choice)) for choice in row.bases]
    digests = {closure.digest for closure in found if closure is not None}
    valid = None not in found and all(_holds(entry, digests) for entry in row.evidence)
    reached = _reached(row.evidence, grade, row) if valid else None
    return Proven(row=row, reached=reached, again=False) if reached else None


def _run(row: Environment, grade: Grade, closures: tuple[Closure, ...], proof: Proof, ports: ProofPorts) -> Proof:
    if grade is Grade.CPU:
        return _run_on_cpu(row, closures, proof, ports)
    return proof if grade is Grade.RESOLVED else _run_image(row, grade, proof, ports)


def _keep(row: Environment, proof: Proof, grade: Grade, ports: ProofPorts, *, ran: bool) -> Proven:
    recorded = replace(proof, unproven=tuple(_still_open(row, proof)))
    ports.records.write_evidence(row.id, dump_proof(row.id, recorded))
    ports.records.drop_reports(row.id, [entry.report for entry in recorded.evidence if isinstance(entry, _RUNS)])
    now = replace(row, evidence=recorded.evidence, unproven=recorded.unproven)
    return Proven(row=now, reached=_reached(now.evidence, grade, row), again=ran)


def _still_open(row: Environment, proof: Proof) -> Iterator[Unproven]:
    """Yield the unproven parts, of this run or earlier ones; those proven since are dropped."""
    tried = {entry.grade for entry in proof.unproven}
    before = tuple(entry for entry in row.unproven if entry.grade not in tried and entry.grade is not Grade.RESOLVED)
    for entry in (*before, *proof.unproven):
        if entry.grade is Grade.RESOLVED or not _reached(proof.evidence, entry.grade, row):
            yield entry


def _closures(row: Environment, ports: ProofPorts, *, relock: bool) -> tuple[tuple[Closure, ...], tuple[Unproven, ...]]:
    outcomes = [_closure(row, choice, ports, relock=relock) for choice in row.bases]
    closures = merged(each for each in outcomes if isinstance(each, Closure))
    if closures:
        ports.records.write_closures(row.id, dump_closures(row.id, closures))
    return closures, tuple(each for each in outcomes if isinstance(each, Unproven))


def _closure(row: Environment, choice: BaseChoice, ports: ProofPorts, *, relock: bool) -> Closure | Unproven:
    request = row_request(row, choice)
    answers = (Answer(base=choice.system.id, request=request_digest(request)),)
    shipped = None if relock else ports.shipped.find(row.id, request)
    if shipped is not None:
        return _with_sizes(replace(shipped, answers=answers), ports)
    ports.progress(f"{row.id}: resolving for Python {choice.python} on {choice.system.id}")
    try:
        packages = ports.resolver.resolve(request)
        from_source = any(not each.is_wheel for each in packages)
        build = ports.resolver.resolve(build_request(request)) if from_source else ()
    except ResolutionFailed as error:
        why = f"{choice.system.id}: {on_one_line(error.message)}"
        return Unproven(grade=Grade.RESOLVED, why=why, when=ports.today)
    return _with_sizes(Closure(python=choice.python, answers=answers, packages=packages, build=build), ports)


def _with_sizes(closure: Closure, ports: ProofPorts) -> Closure:
    packages, build = (with_sizes(each, closure.python, ports.measure) for each in (closure.packages, closure.build))
    return replace(closure, packages=packages, build=build)


def _resolved(closures: tuple[Closure, ...], row: Environment, today: date) -> Iterator[Resolved]:
    """Yield one entry for each closure; the day stays that of the first resolution."""
    known = {entry.closure: entry.when for entry in row.evidence if isinstance(entry, Resolved)}
    for closure in closures:
        yield Resolved(
            bases=closure.bases,
            python=str(closure.python),
            closure=closure.digest,
            when=known.get(closure.digest, today),
        )


def _run_on_cpu(row: Environment, closures: tuple[Closure, ...], proof: Proof, ports: ProofPorts) -> Proof:
    chosen = _runnable(row, closures, ports)
    if chosen is None:
        wanted = ", ".join(sorted({str(choice.python) for choice in row.bases}))
        return _untried(row, proof, Grade.CPU, f"no interpreter of Python {wanted} on this host", ports)
    python, closure = chosen
    ports.progress(f"{row.id}: installing {len(closure.packages)} packages for Python {python.version}")
    started = ports.clock()
    try:
        facts = ports.host.run(
            python,
            closure,
            row.framework.package,
            lambda: ports.progress(f"{row.id}: importing, training, saving, loading"),
        )
    except SourceUnreachable as error:
        return _untried(row, proof, Grade.CPU, error.message, ports)
    except ToolFailed as error:
        return _failed(proof, Grade.CPU, error.message, ports.today)
    subject = f"{row.framework.package} {row.framework.version} on Python {python.version}"
    seconds = ports.clock() - started
    report = run_bare_checks(expect_bare(row, closure, ports.tables), facts, subject=subject, seconds=seconds)
    if not report.passed:
        return _failed(proof, Grade.CPU, first_problem(report), ports.today)
    entry = RanOnCpu(
        python=str(python.version),
        glibc=python.glibc,
        closure=closure.digest,
        when=ports.today,
        report=ports.records.write_report(row.id, f"cpu-{closure.python}", json_report(report)),
    )
    return replace(proof, evidence=(*_without(proof.evidence, RanOnCpu), entry))


def _runnable(row: Environment, closures: tuple[Closure, ...], ports: ProofPorts) -> tuple[HostPython, Closure] | None:
    """Return the closure of the most preferred base whose interpreter this host has."""
    for choice in row.bases:
        closure = next((each for each in closures if choice.system.id in each.bases), None)
        python = ports.host.find(choice.python)
        if closure is not None and python is not None:
            return python, closure
    return None


def _run_image(row: Environment, grade: Grade, proof: Proof, ports: ProofPorts) -> Proof:
    try:
        entry, report = ports.image(row, grade)
    except (SourceUnreachable, EngineError) as error:
        return _untried(row, proof, grade, error.message, ports)
    except EnvbuilderError as error:
        return _failed(proof, grade, error.message, ports.today)
    if not report.passed:
        return _failed(proof, grade, first_problem(report), ports.today)
    weaker = (ProvenImage, BuiltWithStandIns) if isinstance(entry, ProvenImage) else (type(entry),)
    return replace(proof, evidence=(*_without(proof.evidence, *weaker), entry))


def _failed(proof: Proof, grade: Grade, why: str, today: date) -> Proof:
    """Replace the evidence of a grade by the reason of a failure."""
    evidence = tuple(entry for entry in proof.evidence if entry.grade is not grade)
    unproven = (*proof.unproven, Unproven(grade=grade, why=on_one_line(why), when=today))
    return Proof(evidence=evidence, unproven=unproven)


def _untried(row: Environment, proof: Proof, grade: Grade, why: str, ports: ProofPorts) -> Proof:
    """Keep existing evidence that this run could not test; without any, record a failure."""
    if not _reached(proof.evidence, grade, row):
        return _failed(proof, grade, why, ports.today)
    ports.progress(f"{row.id}: keeps its evidence, {on_one_line(why)}")
    return proof


def _holds(entry: Evidence, digests: set[str]) -> bool:
    """Return True if evidence matches the current closures of the row."""
    return isinstance(entry, Documented | Measured) or entry.closure in digests


def _reached(evidence: tuple[Evidence, ...], grade: Grade, row: Environment) -> Grade | None:
    """Return the grade that proves a row as far as requested; None if nothing does."""
    if grade is Grade.RESOLVED:
        resolved = {base for entry in evidence if isinstance(entry, Resolved) for base in entry.bases}
        return grade if resolved >= {choice.system.id for choice in row.bases} else None
    enough = _ENOUGH.get(grade, {grade})
    return max((entry.grade for entry in evidence if entry.grade in enough), key=lambda each: each.rank, default=None)


def _without(evidence: tuple[Evidence, ...], *kinds: type[Evidence]) -> tuple[Evidence, ...]:
    return tuple(entry for entry in evidence if not isinstance(entry, kinds))
