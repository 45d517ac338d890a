"""The image of a row is locked, built, validated and taken away again, whatever came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import BuiltWithStandIns, Grade, ProvenImage, RanOnGpu
from envbuilder.core.errors import BuildFailed, EnvbuilderError, ToolFailed
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.prove import prove
from envbuilder.curation.prove_image import ImageProof
from envbuilder.curation.stand_ins.replacement import Replaced
from envbuilder.diagnostics.checks.results import CheckResult, NotProven, Report, Tier
from envbuilder.diagnostics.report.document import json_report
from envbuilder.diagnostics.validate import Validation
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import small_catalog, small_row
from tests.fakes.ports import lock_ports
from tests.fakes.proving import TODAY, report, world

ROW = small_row("tf-2.15-cpu")
TAG = "envbuilder/proving-tf-2.15-cpu:latest"
DRIVER = (("/usr/lib/x86_64-linux-gnu/libcuda.so.1", b"a library"),)
FACTS = (
    ("TensorFlow", "2.15.1"),
    ("Python", "3.11.2 (glibc 2.36)"),
    ("driver", "580.95.05, CUDA 13.0"),
    ("GPU 0", "NVIDIA H200, compute capability 9.0"),
    ("GPU 1", "NVIDIA L4, compute capability 8.9"),
)


@dataclass(kw_only=True)
class Builds:
    """An engine as far as an image proof sees it.

    Attributes:
        shipped: The closures of the rows.
        matrices: Directory in which reports are kept.
        images: What the engine holds, by tag.
        events: What happened, in order.
        replaced: Sonames that are replaced by stand-ins.
        beside: Results of the validation beside the training.
        asked: The last validation.
    """

    shipped: ClosureFolder
    matrices: Path
    images: dict[str, Lock] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    build_error: EnvbuilderError | None = None
    probe_error: BaseException | None = None
    passed: bool = True
    replaced: tuple[str, ...] = ()
    beside: tuple[CheckResult, ...] = ()
    asked: Validation | None = None

    def proof(self) -> ImageProof:
        return ImageProof(
            shipped=self.shipped,
            engine=self,
            stand_ins=self._replace,
            records=CatalogFiles(matrices=self.matrices),
            today=TODAY,
        )

    def _replace(self, _row: Environment, made: Lock) -> Replaced:
        self.events.append("replace")
        if not self.replaced:
            return Replaced(lock=made)
        return Replaced(lock=replace(made, summary="with stand-ins"), files=DRIVER, sonames=self.replaced)

    def lock(self, spec: Spec) -> Lock:
        return lock(small_catalog(), spec, lock_ports(shipped=self.shipped))

    @contextmanager
    def built(self, made: Lock, tag: str) -> Iterator[None]:
        self.events.append("build")
        if self.build_error:
            raise self.build_error
        self.images[tag] = made
        try:
            yield
        finally:
            self.events.append("remove")
            del self.images[tag]

    def validate(self, wanted: Validation, made: Lock) -> Report:
        assert self.images[wanted.image] is made
        self.events.append(f"validate {wanted.tier}")
        self.asked = wanted
        if self.probe_error:
            raise self.probe_error
        facts = (*FACTS, *((("stand-ins", ", ".join(self.replaced)),) if self.replaced else ()))
        made_report = report(passed=self.passed)
        return replace(
            made_report,
            subject=wanted.image,
            facts=facts,
            tier=wanted.tier or Tier.CPU,
            required=wanted.required,
            results=(*made_report.results, *self.beside),
        )

    @property
    def kept(self) -> dict[str, str]:
        folder = self.matrices / "evidence" / "reports"
        return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in folder.rglob("*.json")}


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    here = world(tmp_path)
    prove(ROW, Grade.RESOLVED, here.ports())
    return Builds(shipped=here.closures, matrices=tmp_path / "matrices")


def test_an_image_is_built_validated_and_removed(builds: Builds) -> None:
    entry, seen = builds.proof()(ROW, Grade.IMAGE)
    assert builds.events == ["build", "validate cpu", "remove"]
    assert not builds.images
    assert seen.passed
    [closure] = builds.shipped.read(ROW.id)
    made = lock(small_catalog(), Spec(environment=ROW.id), lock_ports(shipped=builds.shipped))
    assert entry == ProvenImage(
        base="debian-new",
        python="3.11.2",
        closure=closure.digest,
        lock=digest(made),
        when=TODAY,
        report="tf-2.15-cpu/image-debian-new.json",
    )


@pytest.mark.parametrize("tier", [Grade.IMAGE, Grade.GPU])
def test_the_tier_is_required_and_nothing_is_replaced(builds: Builds, tier: Grade) -> None:
    builds.replaced = ("libcublas.so.9.0",)
    builds.proof()(ROW, tier)
    assert "replace" not in builds.events
    assert builds.asked
    assert (builds.asked.required, builds.asked.files) == (builds.asked.tier, ())


def test_stand_ins_are_named_by_the_evidence_beside_the_real_lock(builds: Builds) -> None:
    builds.replaced = ("libcublas.so.9.0", "libcuda.so.1")
    entry, seen = builds.proof()(ROW, Grade.IMAGE_WITH_STAND_INS)
    assert builds.events == ["replace", "build", "validate cpu", "remove"]
    assert builds.asked
    assert builds.asked.files == DRIVER
    assert seen.passed
    assert isinstance(entry, BuiltWithStandIns)
    assert entry.stand_ins == builds.replaced
    assert entry.lock == digest(lock(small_catalog(), Spec(environment=ROW.id), lock_ports(shipped=builds.shipped)))
    assert entry.report == "tf-2.15-cpu/image-with-stand-ins-debian-new.json"


def test_an_image_that_needs_no_stand_ins_is_proven_as_such(builds: Builds) -> None:
    entry, _ = builds.proof()(ROW, Grade.IMAGE_WITH_STAND_INS)
    assert isinstance(entry, ProvenImage)
    assert entry.report == "tf-2.15-cpu/image-debian-new.json"


@pytest.mark.parametrize(("check", "passed"), [("cudnn-version", True), ("tensorflow-imports", False)])
def test_stand_ins_excuse_the_checks_of_their_libraries_only(builds: Builds, check: str, passed: bool) -> None:
    builds.replaced = ("libcuda.so.1",)
    builds.beside = (CheckResult(id=check, title=check, outcome=NotProven(reason="it is a stand-in")),)
    _, seen = builds.proof()(ROW, Grade.IMAGE_WITH_STAND_INS)
    assert seen.passed is passed


def test_the_gpu_tier_asks_for_a_gpu_and_names_model_and_driver(builds: Builds) -> None:
    entry, _ = builds.proof()(ROW, Grade.GPU)
    assert builds.events == ["build", "validate gpu", "remove"]
    assert isinstance(entry, RanOnGpu)
    assert (entry.gpu, entry.driver) == ("NVIDIA H200", "580.95.05")
    assert entry.report == "tf-2.15-cpu/gpu-debian-new.json"


def test_the_report_that_is_kept_names_the_lock_and_not_the_tag(builds: Builds) -> None:
    entry, seen = builds.proof()(ROW, Grade.IMAGE)
    assert isinstance(entry, ProvenImage)
    kept = builds.kept[entry.report]
    assert kept == json_report(replace(seen, subject=f"image of {entry.lock}"))


def test_a_failed_validation_is_not_kept_and_the_image_is_gone_all_the_same(builds: Builds) -> None:
    builds.passed = False
    _, seen = builds.proof()(ROW, Grade.IMAGE)
    assert not seen.passed
    assert not builds.kept
    assert not builds.images


@pytest.mark.parametrize("error", [ToolFailed("the probe gave no answer"), KeyboardInterrupt()])
def test_the_image_is_gone_when_the_validation_ends_with_an_error(builds: Builds, error: BaseException) -> None:
    builds.probe_error = error
    with pytest.raises(type(error)):
        builds.proof()(ROW, Grade.IMAGE)
    assert builds.events[-1] == "remove"
    assert not builds.images


def test_an_image_that_was_not_built_is_not_removed(builds: Builds) -> None:
    builds.build_error = BuildFailed("a step failed")
    with pytest.raises(BuildFailed):
        builds.proof()(ROW, Grade.IMAGE)
    assert builds.events == ["build"]


def test_a_row_that_ships_no_closure_is_not_built(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "locks" / f"{ROW.id}.yaml").unlink()
    with pytest.raises(ToolFailed, match="has no bundled lock for debian-new") as caught:
        builds.proof()(ROW, Grade.IMAGE)
    assert "--tier resolved" in caught.value.hint
    assert not builds.events
