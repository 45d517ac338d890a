"""A measurement becomes what a row would claim, with everything a reader and the catalog need."""

from __future__ import annotations

from pathlib import Path

from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.audited_wheel import MeasuredWheel, measured_wheel
from envbuilder.curation.wheel_audit.measure import measure
from tests.unit.curation.wheel_audit.wheels import CUBIN, FRAMEWORK, INFO, METADATA, PTX, elf, entry, fatbin, ptx, wheel


def of(folder: Path, members: dict[str, bytes | str]) -> MeasuredWheel:
    return measured_wheel(measure(wheel(folder, members), folder))


def test_a_cpu_wheel_claims_its_floors_and_no_cuda(tmp_path: Path) -> None:
    seen = of(tmp_path, {})
    assert (seen.package, str(seen.version)) == ("tensorflow", "2.99.0")
    assert seen.claims.glibc == Release("2.17")
    assert seen.claims.glibcxx == Release("0")
    assert seen.claims.cuda is None


def test_a_gpu_wheel_claims_libraries_and_code_by_family(tmp_path: Path) -> None:
    code = elf(
        needed=["libcudart.so.9.0", "libcuda.so.1"],
        data={
            ".nv_fatbin": fatbin(entry(CUBIN, 70)),
            ".rodata": fatbin(entry(PTX, 90, ptx("8.0", "sm_90a"))),
        },
    )
    cuda = of(tmp_path, {FRAMEWORK: code}).claims.cuda
    assert cuda is not None
    assert (cuda.linkage, cuda.sonames, cuda.compiled) == ("needed", ("libcudart.so.9.0",), Release("9.0"))
    assert [(family.name, family.machine, family.forward) for family in cuda.families] == [
        ("cuda", (Release("7.0"),), True),
        ("mlir", (), False),
    ]


def test_the_record_is_the_whole_measurement_and_the_extra_s_pins_are_apart(tmp_path: Path) -> None:
    metadata = METADATA + "Provides-Extra: and-cuda\nRequires-Dist: nvidia-x-cu12==1.2; extra == 'and-cuda'\n"
    seen = of(tmp_path, {f"{INFO}/METADATA": metadata})
    assert seen.cuda_pins == ("nvidia-x-cu12==1.2",)
    assert seen.record["and_cuda_pins"] == ["nvidia-x-cu12==1.2"]
    assert seen.record["sha256"] == seen.sha256
