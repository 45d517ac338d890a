"""The GPU side of `cuda.yaml`: what may be left out, and what must be in order."""

from __future__ import annotations

import pytest

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.driver_floors import knowing_driver
from envbuilder.catalog.load.tables import read_cuda
from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from tests.fakes.catalogs import DATA, MATRICES

TEXT = (DATA / "catalog" / "cuda.yaml").read_text(encoding="utf-8").partition("\nptx:")[0].partition("\ncudnn:")[0]
PTX = """
ptx:
  - isa: "7.0"
    cuda: "11.0"
  - isa: "7.8"
    cuda: "11.8"
"""
CUDNN = """
cudnn:
  - cudnn: "8.0"
    oldest: "3.5"
    sources:
      - "made up for tests"
  - cudnn: "9.11"
    oldest: "7.5"
    newest: "12.0"
    sources:
      - "made up for tests"
"""


def read(text: str) -> CudaFacts:
    return read_cuda(text, "cuda.yaml")


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as caught:
        read(text)
    return tuple(f"{fault.field}: {fault.problem}" for fault in caught.value.faults)


def test_ptx_versions_and_cudnn_are_read() -> None:
    facts = read(TEXT + PTX + CUDNN)
    assert [(str(each.isa), str(each.cuda)) for each in facts.ptx] == [("7.0", "11.0"), ("7.8", "11.8")]
    assert [(str(each.cudnn), str(each.oldest), str(each.newest)) for each in facts.cudnn] == [
        ("8.0", "3.5", "None"),
        ("9.11", "7.5", "12.0"),
    ]


def test_a_gpu_may_have_a_last_release_of_cuda() -> None:
    facts = read(TEXT.replace('    since: "10.0"\n', '    since: "10.0"\n    last: "12.9"\n'))
    assert [str(gpu.last) for gpu in facts.gpus] == ["12.9", "None"]


def test_without_the_tables_nothing_is_known() -> None:
    facts = read(TEXT)
    assert facts.ptx_cuda(Release("7.0")) is None
    assert facts.cudnn_code(Release("8.0.4")) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (PTX.replace('"7.0"', '"8.0"'), "ptx: must be in ascending order"),
        (CUDNN.replace('"8.0"', '"9.28"'), "cudnn: must be in ascending order"),
        (CUDNN.replace('    oldest: "3.5"\n', ""), "cudnn[0].oldest: is missing"),
        (PTX.replace('    cuda: "11.0"\n', ""), "ptx[0].cuda: is missing"),
        (
            CUDNN.replace('    sources:\n      - "made up for tests"\n  -', "    sources: []\n  -"),
            "cudnn[0].sources: must have at least one entry",
        ),
    ],
)
def test_a_spoilt_table_gets_its_fault(text: str, fault: str) -> None:
    assert fault in faults(TEXT + text)


@pytest.mark.parametrize(
    ("cudnn", "since"), [("5.1.10", None), ("8.0.5", "8.0"), ("8.0", "8.0"), ("9.11.0", "9.11"), ("9.28.0.42", "9.11")]
)
def test_what_is_known_of_cudnn_holds_up_to_the_next_entry(cudnn: str, since: str | None) -> None:
    code = read(TEXT + CUDNN).cudnn_code(Release(cudnn))
    assert (str(code.cudnn) if code else None) == since


@pytest.mark.parametrize(
    ("cuda", "driver"), [("9.0", "384.81"), ("10.0", "450.51.06"), ("11.8", "520.61.05"), ("12.0", None)]
)
def test_the_driver_that_knows_a_release_is_the_one_that_came_with_it_or_after(cuda: str, driver: str | None) -> None:
    known = knowing_driver(read(TEXT), Release(cuda))
    assert (str(known) if known else None) == driver


def test_the_products_tables_reach_its_newest_release() -> None:
    facts = read((MATRICES / "cuda.yaml").read_text(encoding="utf-8"))
    assert all(knowing_driver(facts, entry.cuda) for entry in facts.ptx)
    assert all(knowing_driver(facts, gpu.since) for gpu in facts.gpus)
