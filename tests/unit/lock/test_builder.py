"""Located and resolved ingredients become a lock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from envbuilder.catalog.environments import Environment, PythonProvider
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import parse
from envbuilder.lock.builder import Ingredients, assemble, refuse_policy
from envbuilder.lock.locations import Located, Refused
from envbuilder.lock.lock import BasePin, Lock, PythonPin
from envbuilder.lock.spec_values import Spec
from tests.fakes.catalogs import small_catalog, small_row


def assembled(row: Environment, *, place: int = 0) -> Lock:
    choice = row.bases[place]
    ingredients = Ingredients(
        located=Located(
            choice=choice,
            base=BasePin(id=choice.system.id, kind=choice.system.kind, image="", digest="sha256:" + "0" * 64),
            python=PythonPin(version=choice.python, provider=PythonProvider.OS),
        ),
        refusals=(Refused(base="first", reason="is gone"),),
        packages=(),
        os_packages=(),
        tools=(),
    )
    return assemble(small_catalog(), row, Spec(environment=row.id), ingredients)


def test_the_cuda_pins_are_those_of_the_libraries_that_the_image_has() -> None:
    cuda = assembled(small_row("tf-2.4-cuda11.0"), place=1).cuda
    assert cuda is not None
    assert (str(cuda.cuda), str(cuda.cudnn), str(cuda.driver)) == ("11.8", "8.6.0", "450.80.02")
    assert cuda.links[0].name == "libcusolver.so.10"


def test_a_cpu_row_has_no_cuda_pins() -> None:
    assert assembled(small_row("tf-2.15-cpu")).cuda is None


def test_deviations_and_refusals_are_kept() -> None:
    lock = assembled(small_row("tf-2.4-cuda11.0"), place=1)
    assert lock.deviations == ("CUDA libraries are 11.8 instead of 11.0: there are no older wheels",)
    assert lock.refused == ("first",)


def test_time_stamps_are_midnight_of_the_cutoff_in_utc() -> None:
    assert assembled(small_row("tf-2.4-cuda11.0")).epoch == 1685577600


@pytest.mark.parametrize(
    ("version", "allowed"), [("1.4.1", False), ("2.4.4", False), ("2.5.3", False), ("2.6.0", True), ("2.20.0", True)]
)
def test_the_asynchronous_allocator_needs_a_tensorflow_that_has_it(version: str, allowed: bool) -> None:
    row = small_row("tf-1.7-cuda9.0")
    asked = replace(row, framework=replace(row.framework, version=Version(version)))
    for policy in ("all", "growth", "fraction:0.5", "limit:4GiB,growth"):
        refuse_policy(asked, parse(policy))
    if allowed:
        refuse_policy(asked, parse("async-allocator"))
        return
    with pytest.raises(UsageError, match="no working asynchronous allocator") as caught:
        refuse_policy(asked, parse("async-allocator"))
    assert "growth" in caught.value.hint
