"""Every case of tests/data/invalid/spec and /lock gets exactly its faults."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import InvalidInput
from envbuilder.lock.lockfile import dump, load
from tests.fakes.specs import read_spec
from tests.unit.core.yaml.invalid import DATA, INVALID, assert_faults, cases, expectations, read_patch


@pytest.mark.parametrize("name", cases("spec"))
def test_a_wrong_spec_gets_exactly_its_faults(name: str) -> None:
    text = (INVALID / "spec" / name).read_text(encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_spec(text, "envbuilder.yaml")
    assert_faults(tuple(map(str, caught.value.faults)), expectations(text))


@pytest.mark.parametrize("name", cases("lock"))
def test_a_wrong_lock_gets_exactly_its_faults(name: str) -> None:
    patch = read_patch(INVALID / "lock" / name)
    text = patch.apply((DATA / patch.file).read_text(encoding="utf-8"))
    with pytest.raises(InvalidInput) as caught:
        load(text, "envbuilder.lock")
    assert_faults(tuple(map(str, caught.value.faults)), patch.expect)


def test_the_lock_that_the_cases_spoil_is_good_and_canonical() -> None:
    text = (DATA / "good.lock").read_text(encoding="utf-8")
    assert dump(load(text, "good.lock")) == text
