"""The traps of the facts are honoured: what an advisory says is done, is done in rows, sets and rendered images."""

from __future__ import annotations

import pytest

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.catalog.environments import CudaProvider, Environment
from envbuilder.core.versions import Release
from envbuilder.image.render import rendered
from envbuilder.lock.create import lock
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import TEMPLATES, real_catalog, real_row
from tests.fakes.ports import lock_ports

CATALOG = real_catalog()
ON_WHEELS = [
    (row, choice.system.id)
    for row in CATALOG.environments
    for choice in row.bases
    if choice.cuda_provider is CudaProvider.WHEELS
]


def hit_by(advisory: str) -> list[Environment]:
    return [row for row in CATALOG.environments if advisory in {each.id for each in row.advisories}]


def named(package: str, version: str) -> list[str]:
    """Rows that would install this release, by default or when asked."""
    found = []
    for row in CATALOG.environments:
        releases = [(row.framework.package, row.framework.version)]
        releases += [(other.package, other.version) for other in row.framework.others]
        if (package, version) in [(name, str(each)) for name, each in releases]:
            found.append(row.id)
    return found


def test_the_row_of_1_12_has_all_gpus_and_the_patches_that_have_one_only_say_so() -> None:
    row = real_row("tf-1.12-cuda9.0")
    assert str(row.framework.version) == "1.12.0"
    assert {str(other.version): other.advisory.id for other in row.framework.others if other.advisory} == {
        "1.12.2": "sm37-only-1.12",
        "1.12.3": "sm37-only-1.12",
    }


def test_the_empty_tensorflow_gpu_2_12_is_named_nowhere() -> None:
    assert not named("tensorflow-gpu", "2.12.0")


def test_the_unsuffixed_1_15_0_is_in_no_cpu_row() -> None:
    assert not [row for row in named("tensorflow", "1.15.0") if row.endswith("-cpu")]
    assert str(real_row("tf-1.15-cpu").framework.version) == "1.15.5"


def test_2_15_0_is_no_default() -> None:
    assert str(real_row("tf-2.15-cuda12.2").framework.version) == "2.15.1"


@pytest.mark.parametrize("minor", ["1.5", "1.6", "1.7"])
def test_an_image_of_1_5_to_1_7_has_cudnn_7_0(minor: str) -> None:
    row = real_row(f"tf-{minor}-cuda9.0")
    assert row.cuda
    assert row.cuda.cudnn.rule is CudnnRule.EXACT_MINOR
    assert {choice.cudnn.head(2) for choice in row.bases if choice.cudnn} == {(7, 0)}
    on_image = [choice for choice in row.bases if choice.cuda_provider is CudaProvider.BASE]
    assert all(any("libcudnn7=7.0." in package for package in choice.os_packages) for choice in on_image)


def test_no_set_has_a_cudnn_without_code_for_volta() -> None:
    assert all(known.cudnn < Release("9.11") for known in CATALOG.libraries)


def test_the_documented_cudnn_7_4_is_refused_by_1_15_and_2_0() -> None:
    for row in hit_by("cudnn-7.4-documented"):
        assert row.cuda
        assert not row.cuda.cudnn.accepts(Release("7.4.2"))
        assert all(choice.cudnn and row.cuda.cudnn.accepts(choice.cudnn) for choice in row.bases)


def test_the_image_of_cuda_12_5_is_no_base_of_2_18_and_later() -> None:
    for row in hit_by("image-12.5-cudnn-9.2"):
        assert row.cuda
        assert not row.cuda.cudnn.accepts(Release("9.2.1"))
        assert all("12.5" not in choice.system.image for choice in row.bases)


def test_ptx_that_no_newer_gpu_compiles_is_marked() -> None:
    rows = hit_by("ptx-sm90a")
    assert {str(row.framework.version.minor) for row in rows} == {"16", "17", "18", "19", "20"}
    for row in rows:
        assert row.cuda
        assert [family.forward for family in row.cuda.code if family.name == "mlir"] == [False]


@pytest.mark.parametrize(("row", "base"), ON_WHEELS, ids=lambda value: getattr(value, "id", value))
def test_an_image_links_every_library_of_the_wheels_where_the_loader_looks(row: Environment, base: str) -> None:
    files = {
        file.path: file.text
        for file in rendered(lock(CATALOG, Spec(environment=row.id, base=base), lock_ports()), TEMPLATES).texts
    }
    assert "/nvidia/*/lib/lib*.so* /usr/lib/x86_64-linux-gnu/" in files["Dockerfile"]


@pytest.mark.parametrize("advisory", ["nccl-not-found", "cusolver-not-found-2.21", "and-cuda-2.15.0", "ptx-sm90a"])
def test_every_known_trap_of_the_wheels_hits_some_row(advisory: str) -> None:
    others = [other.advisory.id for row in CATALOG.environments for other in row.framework.others if other.advisory]
    assert hit_by(advisory) or advisory in others


@pytest.mark.parametrize("advisory", CATALOG.advisories, ids=lambda advisory: advisory.id)
def test_an_advisory_has_a_remedy_or_says_that_there_is_none(advisory: object) -> None:
    remedy = getattr(advisory, "remedy", "")
    assert len(remedy.split()) > 3
