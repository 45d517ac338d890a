"""The first base that can be had is taken, in the row's order, and every refusal is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseChoice
from envbuilder.core.errors import NoUsableBase, UsageError
from envbuilder.core.versions import Release
from envbuilder.lock.base_choice import Located, Location, Refused, choose
from envbuilder.lock.lock import BasePin, PythonPin
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import small_row

ROW = small_row("tf-2.4-cuda11.0")


class Locator:
    """Has every base, but for those that are missing."""

    def __init__(self, *missing: str) -> None:
        self.asked: list[str] = []
        self._missing = missing

    def __call__(self, choice: BaseChoice) -> Location:
        name = choice.system.id
        self.asked.append(name)
        if name in self._missing:
            return Refused(base=name, reason="is gone", hint=f"make {name}")
        base = BasePin(id=name, kind=choice.system.kind, image=choice.system.image, digest="sha256:" + "0" * 64)
        return Located(
            choice=choice, base=base, python=PythonPin(version=choice.python, provider=choice.python_provider)
        )


def spec(*, base: str = "", python: str = "") -> Spec:
    return Spec(environment=ROW.id, base=base, python=Release(python) if python else None)


def test_the_preferred_base_is_taken_and_no_other_is_looked_for() -> None:
    locate = Locator()
    located, refusals = choose(ROW, spec(), locate)
    assert (located.base.id, refusals, locate.asked) == ("image-11.0", (), ["image-11.0"])


def test_the_next_base_is_taken_when_one_is_refused_and_the_refusal_is_told() -> None:
    located, refusals = choose(ROW, spec(), Locator("image-11.0"))
    assert located.base.id == "debian-new"
    assert [str(refusal) for refusal in refusals] == ["image-11.0: is gone"]


def test_without_any_base_all_reasons_are_told_in_order() -> None:
    with pytest.raises(NoUsableBase) as caught:
        choose(ROW, spec(), Locator("image-11.0", "debian-new"))
    assert caught.value.refusals == (("image-11.0", "is gone"), ("debian-new", "is gone"))
    assert caught.value.hint == "make image-11.0"


def test_a_named_base_is_the_only_one_that_is_tried() -> None:
    locate = Locator("debian-new")
    with pytest.raises(NoUsableBase):
        choose(ROW, spec(base="debian-new"), locate)
    assert locate.asked == ["debian-new"]


def test_a_base_that_the_row_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(UsageError) as caught:
        choose(ROW, spec(base="image-9.0"), Locator())
    assert "image-11.0, debian-new" in caught.value.hint


def test_another_python_comes_from_an_archive_where_the_base_takes_one() -> None:
    located, refusals = choose(ROW, spec(python="3.7"), Locator())
    assert (located.base.id, str(located.choice.python)) == ("debian-new", "3.7")
    assert [str(refusal) for refusal in refusals] == ["image-11.0: has Python 3.8, not 3.7"]


def test_a_python_without_a_wheel_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UsageError) as caught:
        choose(ROW, spec(python="3.10"), Locator())
    assert "3.7, 3.8, 3.11" in caught.value.hint


def test_the_python_that_the_base_has_anyway_changes_nothing() -> None:
    assert choose(ROW, spec(python="3.8"), Locator()) == choose(ROW, spec(), Locator())


def test_a_python_that_the_installer_does_not_know_is_refused() -> None:
    row = replace(ROW, framework=replace(ROW.framework, pythons=(Release("2.7"), Release("3.8"))))
    with pytest.raises(UsageError, match=r"does not support Python 2\.7"):
        choose(row, spec(python="2.7"), Locator())


def test_another_python_brings_the_source_builds_of_the_bases_that_have_it() -> None:
    """Packages without a wheel for Python 3.6 are those without one on a base whose own interpreter is 3.6."""
    [new, *others] = ROW.bases
    old = replace(new, system=replace(new.system, id="old"), python=Release("3.7"), source_builds=("termcolor",))
    row = replace(ROW, bases=(replace(new, source_builds=("gast",)), *others, old))
    located, _ = choose(row, spec(python="3.7"), Locator())
    assert located.choice.source_builds == ("termcolor",)
    assert choose(row, spec(), Locator())[0].choice.source_builds == ("gast",)
