"""Every case of tests/data/invalid/matrices spoils one file of the small catalog, and gets exactly its faults."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.load.rules import RULES
from envbuilder.core.errors import InvalidInput
from tests.unit.core.yaml.invalid import DATA, INVALID, Patch, assert_faults, cases, read_patch

CATALOG = DATA / "catalog"


def faults_of(patch: Patch, folder: Path) -> tuple[str, ...]:
    shutil.copytree(CATALOG, folder)
    spoilt = folder / patch.file
    spoilt.write_text(patch.apply(spoilt.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_catalog(folder)
    return tuple(str(fault).replace(f"{folder}/", "") for fault in caught.value.faults)


@pytest.mark.parametrize("name", cases("matrices"))
def test_a_spoilt_matrix_gets_exactly_its_faults(name: str, tmp_path: Path) -> None:
    patch = read_patch(INVALID / "matrices" / name)
    assert_faults(faults_of(patch, tmp_path / "matrices"), patch.expect)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_that_it_catches(rule: str) -> None:
    expected = [line for name in cases("matrices") for line in read_patch(INVALID / "matrices" / name).expect]
    assert any(f"[{rule}]" in line for line in expected)
