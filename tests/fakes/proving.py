"""Everything that proving asks of the world, as fakes that do as they are told and remember what they were asked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import BuiltWithStandIns, Evidence, Grade, ProvenImage, RanOnGpu
from envbuilder.catalog.load.environments import Proof, read_proof
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.versions import Release
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.proof.interpreters import HostPython
from envbuilder.curation.prove import ProofPorts
from envbuilder.diagnostics.checks.results import CheckResult, Passed, Report, Tier, failure
from envbuilder.diagnostics.facts.facts import Fact, Facts, Imported, Unseen
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.lock.closures import Closure
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.resolver import FakeResolver, made_up_sha256

TODAY = date(2026, 11, 21)
LOCK_DIGEST = f"sha256:{made_up_sha256('lock')}"


def good_facts() -> Facts:
    """What the probe saw in a TensorFlow 2.15.1 for CPUs that does everything it must."""
    path = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"
    return decode(path.read_text(encoding="utf-8"), path.name)


def facts_without_import(message: str) -> Facts:
    """What the probe sees where `import tensorflow` fails, and with it everything that follows."""
    imported: Fact[Imported] = Unseen(kind="ImportError", message=message)
    missed = Unseen(kind="NotReached", message="tensorflow was not imported")
    return replace(good_facts(), imported=imported, build=missed, devices=missed, training=missed, saving=missed)


def report(*, passed: bool) -> Report:
    """A report with one check."""
    outcome = Passed(seen="it ran") if passed else failure(problem="loss rose", remedy="look")
    return Report(
        subject="an image",
        environment="row",
        tier=Tier.CPU,
        required=Tier.CPU,
        results=(CheckResult(id="training-loss-falls", title="training", outcome=outcome),),
        facts=(),
        deviations=(),
        not_covered=(),
        seconds=1.0,
    )


class FakeImages:
    """The `ImageProver` for tests.

    Args:
        shipped: Where closures are looked up, as a build does.

    Attributes:
        asked: `(row, tier)` of every image, in order.
        refusal: Why there is no image; None lets it be built.
        passed: Whether the image does what it must.
        stand_ins: Libraries that are replaced where stand-ins are allowed.
    """

    def __init__(self, shipped: ClosureFolder) -> None:
        self.asked: list[tuple[str, Grade]] = []
        self.refusal: EnvbuilderError | None = None
        self.passed = True
        self.stand_ins: tuple[str, ...] = ()
        self._shipped = shipped

    def __call__(self, row: Environment, tier: Grade) -> tuple[Evidence, Report]:
        self.asked.append((row.id, tier))
        if self.refusal:
            raise self.refusal
        choice = row.bases[0]
        closure = self._shipped.find(row.id, row_request(row, choice))
        assert closure is not None, "the closures are kept before an image is built"
        entry: Evidence = ProvenImage(
            base=choice.system.id,
            python="3.11.2",
            closure=closure.digest,
            lock=LOCK_DIGEST,
            when=TODAY,
            report="image.json",
        )
        if tier is Grade.IMAGE_WITH_STAND_INS and self.stand_ins:
            entry = BuiltWithStandIns(
                base=choice.system.id,
                python="3.11.2",
                closure=closure.digest,
                lock=LOCK_DIGEST,
                stand_ins=self.stand_ins,
                when=TODAY,
                report="image-with-stand-ins.json",
            )
        if tier is Grade.GPU:
            entry = RanOnGpu(
                base=choice.system.id,
                gpu="NVIDIA H200",
                driver="580.1",
                closure=closure.digest,
                lock=LOCK_DIGEST,
                when=TODAY,
                report="gpu.json",
            )
        return entry, report(passed=self.passed)


@dataclass(kw_only=True)
class World:
    """A folder of matrices and all that a proof runs on; a test changes what it needs before it proves.

    Attributes:
        matrices: The folder.
        resolver: Resolves packages.
        pythons: Interpreters of the host, by `major.minor`.
        refusal: Why nothing can be installed; None lets everything be.
        made_for: `(version of the interpreter, closure)` of every environment, in order.
        facts: What the probe sees.
        looked: Interpreters that the probe ran with, in order.
        today: The day.
        told: What was told, in order.
    """

    matrices: Path
    resolver: FakeResolver
    pythons: dict[str, str]
    refusal: EnvbuilderError | None
    made_for: list[tuple[str, Closure]]
    images: FakeImages
    facts: Facts
    looked: list[HostPython]
    today: date
    told: list[str]

    def ports(self) -> ProofPorts:
        """The ports of one run."""
        ticks = itertools.count(0.0, 2.5)
        return ProofPorts(
            tables=real_catalog().cuda,
            shipped=self.closures,
            resolver=self.resolver,
            measure=lambda chosen, _python: [len(each.file) for each in chosen],
            host=self,
            image=self.images,
            records=CatalogFiles(matrices=self.matrices),
            today=self.today,
            clock=lambda: next(ticks),
            progress=self.told.append,
        )

    @property
    def closures(self) -> ClosureFolder:
        """The closures that rows ship with."""
        return ClosureFolder(folder=self.matrices / "locks")

    @property
    def ran(self) -> int:
        """How much was done: resolutions, environments, probes and images."""
        return len(self.resolver.asked) + len(self.made_for) + len(self.looked) + len(self.images.asked)

    def recorded(self, row: str) -> Proof:
        """What the evidence of a row says on disk."""
        path = self.matrices / "evidence" / f"{row}.yaml"
        return read_proof(path.read_text(encoding="utf-8"), path.name, row)

    def reloaded(self, row: Environment) -> Environment:
        """The row as the next run reads it."""
        proof = self.recorded(row.id)
        return replace(row, evidence=proof.evidence, unproven=proof.unproven)

    def find(self, python: Release) -> HostPython | None:
        version = self.pythons.get(str(python))
        return HostPython(path=Path("/python"), version=Release(version), glibc="2.36") if version else None

    def run(self, python: HostPython, closure: Closure, package: str, installed: Callable[[], None]) -> Facts:
        assert package in {each.name for each in closure.packages}
        self.made_for.append((str(python.version), closure))
        if self.refusal:
            raise self.refusal
        installed()
        self.looked.append(python)
        return self.facts


def world(
    matrices: Path, *, pythons: Iterable[str] = ("3.8.18", "3.11.7"), resolver: FakeResolver | None = None
) -> World:
    """A world where everything can be had: an empty folder of matrices, and a host with these interpreters."""
    return World(
        matrices=matrices,
        resolver=resolver or FakeResolver(),
        pythons={full.rpartition(".")[0]: full for full in pythons},
        refusal=None,
        made_for=[],
        images=FakeImages(ClosureFolder(folder=matrices / "locks")),
        facts=good_facts(),
        looked=[],
        today=TODAY,
        told=[],
    )
