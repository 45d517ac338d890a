"""The page of GPUs: Markdown whose every mark that is not plain has its reason below."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.fakes.catalogs import real_catalog, small_catalog
from tools.gpu_page import coverage_page


def cells(page: str) -> list[str]:
    return [cell.strip() for line in page.splitlines() if line.startswith("| tf-") for cell in line.split("|")[2:-1]]


def test_every_mark_but_plain_code_has_a_footnote() -> None:
    page = coverage_page(real_catalog())
    marks = [cell for cell in cells(page) if re.match(r"(code|jit|-)\??(\[|$)", cell)]
    assert marks
    assert {mark for mark in marks if "[" not in mark} == {"code"}


def test_every_footnote_is_used_and_there_once() -> None:
    page = coverage_page(real_catalog())
    used = re.findall(r"\[\^(\d+)\](?!:)", page)
    written = re.findall(r"^\[\^(\d+)\]:", page, re.MULTILINE)
    assert written == [str(number) for number in range(1, len(written) + 1)]
    assert set(used) == set(written)


def test_the_rows_of_a_table_are_as_long_as_its_header() -> None:
    for table in re.findall(r"(?:^\|.*\n)+", coverage_page(real_catalog()), re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_a_base_that_differs_has_its_own_line() -> None:
    _, _, below = coverage_page(real_catalog()).partition("## Other bases")
    assert re.search(r"^\| tf-2\.4-cuda11\.0 \| nvidia-cuda-11\.0\.3-cudnn8 \| .*\| code\?", below, re.MULTILINE)


def test_rows_without_a_gpu_are_named_and_left_out() -> None:
    assert "Without GPU support: tf-2.15-cpu.\n" in coverage_page(small_catalog())


def test_a_catalog_without_gpu_rows_makes_a_page_too() -> None:
    catalog = small_catalog()
    page = coverage_page(replace(catalog, environments=tuple(row for row in catalog.environments if not row.cuda)))
    assert "Without GPU support" in page
    assert not cells(page)
