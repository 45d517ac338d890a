"""Pins without a wheel for the chosen Python lead to the Python that keeps all of them, if there is one."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.api_names import ApiMap
from envbuilder.core.errors import SourceUnreachable
from envbuilder.lock.adopt import choose_environment
from envbuilder.lock.adopted_packages import PackageChange
from envbuilder.lock.adoption import Adoption
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.other_pythons import other_python
from envbuilder.lock.project.conclusions import conclude
from envbuilder.lock.project.reading import read_project
from tests.fakes.catalogs import real_catalog
from tests.fakes.index import FakeIndex

CPU = Query(cpu=True)
Release: TypeAlias = tuple[tuple[str, str], list[IndexFile]]


def release(pin: str, *tags: str) -> Release:
    """A release with a wheel for each tag."""
    name, _, version = pin.partition("==")
    files = [f"{name}-{version}-{tag}.whl" for tag in tags]
    return (name, version), [IndexFile(file=file, sha256="0" * 64, url=f"https://a.example/{file}") for file in files]


def linux(*pythons: str) -> tuple[str, ...]:
    return tuple(f"{python}-{python}{'m' if python < 'cp38' else ''}-manylinux1_x86_64" for python in pythons)


def adopted(changes: dict[str, str], requirement: str = "tensorflow==1.15.5") -> Adoption:
    """A project whose packages had to change."""
    found = conclude(read_project({"requirements.txt": f"{requirement}\n"}), ApiMap())
    return Adoption(
        files=(),
        last_change=None,
        found=found,
        choice=choose_environment(real_catalog(), found, CPU),
        changes=tuple(PackageChange(before=pin, after=after, reason="any") for pin, after in changes.items()),
    )


def proposed(changes: dict[str, str], *releases: Release) -> tuple[str, str, tuple[str, ...]]:
    """Python, environment and pins of the proposal; empty if there is none."""
    other = other_python(real_catalog(), adopted(changes), CPU, FakeIndex(dict(releases)))
    return (other.advice.python.series, other.advice.environment, other.pins) if other else ("", "", ())


def test_the_python_for_which_every_pin_has_a_wheel_is_proposed_with_its_environment() -> None:
    assert proposed(
        {"numpy==1.14.0": "numpy", "scipy==1.0.0": "", "six": ""},
        release("numpy==1.14.0", *linux("cp34", "cp35", "cp36")),
        release("scipy==1.0.0", *linux("cp36")),
    ) == ("3.6", "tf-1.15-cpu", ("numpy==1.14.0", "scipy==1.0.0"))


def test_a_pin_that_is_built_from_source_is_one_without_a_wheel() -> None:
    changes = {"numpy==1.14.0": "numpy==1.14.0, built from source"}
    assert proposed(changes, release("numpy==1.14.0", *linux("cp36")))[0] == "3.6"


def test_a_pin_that_no_python_keeps_does_not_matter_for_the_others() -> None:
    assert proposed(
        {"numpy==1.14.0": "numpy", "librosa==0.5.1": "", "wheels-of-windows==1": ""},
        release("numpy==1.14.0", *linux("cp36")),
        release("librosa==0.5.1"),
        release("wheels-of-windows==1", "cp36-cp36m-win_amd64"),
    ) == ("3.6", "tf-1.15-cpu", ("numpy==1.14.0",))


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        # It failed for another reason: it conflicts.
        ("attrs==19.1.0", ("py2.py3-none-any",)),
        # Wheels for Pythons without such a TensorFlow only.
        ("numpy==1.26.4", linux("cp312")),
        ("numpy>=1.14", linux("cp36")),
        ("numpy==1.14.*", linux("cp36")),
        # The TensorFlow of the environment takes its place.
        ("tensorflow-gpu==1.15.5", linux("cp36")),
        ("not a requirement", linux("cp36")),
    ],
)
def test_other_changes_lead_to_no_other_python(change: str, tags: tuple[str, ...]) -> None:
    assert proposed({change: ""}, release(change, *tags)) == ("", "", ())


def test_pins_that_need_different_pythons_lead_to_none() -> None:
    releases = (release("a==1", *linux("cp36")), release("b==1", *linux("cp37")))
    changes = {"a==1": "a", "b==1": "b"}
    other = other_python(real_catalog(), adopted(changes, "tensorflow==2.3.*"), CPU, FakeIndex(dict(releases)))
    assert other is None


def test_the_minor_release_of_tensorflow_stays_if_a_newer_python_has_another_one() -> None:
    wheels = dict([release("a==1", *linux("cp36", "cp37"))])
    adoption = adopted({"a==1": "a"}, "tensorflow>=1.15,<2.3")
    other = other_python(real_catalog(), adoption, CPU, FakeIndex(wheels))
    assert other is not None
    assert (other.advice.environment, other.advice.python.series) == ("tf-2.2-cpu", "3.6")


def test_without_an_environment_nothing_is_asked() -> None:
    adoption = adopted({"numpy==1.14.0": ""}, "tensorflow==0.12.1")
    assert other_python(real_catalog(), adoption, CPU, FakeIndex(answers=False)) is None
    with pytest.raises(SourceUnreachable):
        other_python(real_catalog(), adopted({"numpy==1.14.0": ""}), CPU, FakeIndex(answers=False))
