"""Located and resolved ingredients become a lock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from envbuilder.catalog.environments import CudaProvider, Environment, PythonProvider
from envbuilder.catalog.selection import find
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import parse
from envbuilder.image.plan.layers import REQUIREMENT, plan
from envbuilder.lock.base_choice import Located, Refused
from envbuilder.lock.builder import LockIngredients, assemble, refuse_policy
from envbuilder.lock.create import lock
from envbuilder.lock.diff import compare
from envbuilder.lock.lock import BasePin, Lock, PythonPin
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import real_catalog, small_catalog, small_row
from tests.fakes.ports import lock_ports


def assembled(row: Environment, *, place: int = 0) -> Lock:
    choice = row.bases[place]
    ingredients = LockIngredients(
        located=Located(
            choice=choice,
            base=BasePin(id=choice.system.id, kind=choice.system.kind, image="", digest="sha256:" + "0" * 64),
            python=PythonPin(version=choice.python, provider=PythonProvider.OS),
        ),
        refusals=(Refused(base="first", reason="is gone"),),
        packages=(),
        profiles=(),
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


def test_a_lock_pins_the_libraries_that_its_set_takes_out_of_archives() -> None:
    made = lock(real_catalog(), Spec(environment="tf-1.7-cuda9.0"), lock_ports())
    assert made.cuda
    assert made.cuda.provider is CudaProvider.ARCHIVE
    run_file, cudnn = made.cuda.archives
    assert (run_file.id, run_file.publisher, run_file.inner) == (
        "cuda-9.0.176-runfile",
        "nvidia-developer",
        "run_files/cuda-linux.9.0.176-22781540.run",
    )
    assert [pin.soname for pin in run_file.libraries] == [
        "libcublas.so.9.0",
        "libcudart.so.9.0",
        "libcufft.so.9.0",
        "libcurand.so.9.0",
        "libcusolver.so.9.0",
    ]
    assert [pin.path for pin in cudnn.libraries] == ["cuda/lib64/libcudnn.so.7.0.5"]
    assert "cuda-9.0.176-runfile 96863423feaa: libcublas.so.9.0, " in dict(made.inputs)["row.base.archives"]


@pytest.mark.parametrize("environment", ["tf-1.12-cuda9.0", "tf-2.0-cuda10.0"])
def test_libraries_that_the_package_index_has_are_pinned_by_their_own_hash(environment: str) -> None:
    made = lock(real_catalog(), Spec(environment=environment), lock_ports())
    *wheels, run_file = made.cuda.archives if made.cuda else ()
    assert [pin.publisher for pin in wheels] == ["pypi", "pypi"]
    assert {library.soname.partition(".")[0] for pin in wheels for library in pin.libraries} >= {
        "libcublas",
        "libcudart",
        "libcudnn",
        "libcurand",
    }
    assert all(library.sha256 for pin in wheels for library in pin.libraries)
    assert {"libcufft", "libcusolver"} <= {library.soname.partition(".")[0] for library in run_file.libraries}
    assert not [each for each in made.deviations if "one source only" in each]


def test_a_sha256_with_one_source_is_a_deviation() -> None:
    catalog = real_catalog()
    row = find(catalog, "tf-1.7-cuda9.0")
    archives = tuple(
        replace(use, archive=replace(use.archive, agreeing=1)) if "cudnn" in use.archive.id else use
        for use in (row.bases[0].libraries.archives if row.bases[0].libraries else ())
    )
    assert row.bases[0].libraries
    doubtful = replace(row.bases[0], libraries=replace(row.bases[0].libraries, archives=archives))
    rows = tuple(
        replace(each, bases=(doubtful, *row.bases[1:])) if each.id == row.id else each for each in catalog.environments
    )
    made = lock(replace(catalog, environments=rows), Spec(environment=row.id), lock_ports())
    [stated] = [each for each in made.deviations if "one source only" in each]
    assert stated.startswith("the sha256 of cudnn-7.0.5.15-cuda9.0 has one source only: chainer/chainer-test at")


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


def required(environment: str, base: str) -> Lock:
    return lock(real_catalog(), Spec(environment=environment, base=base, require_driver=True), lock_ports())


def test_a_requirement_of_the_container_runtime_is_in_the_lock_only_if_the_spec_asks_for_it() -> None:
    found = required("tf-2.15-cuda12.2", "debian-bookworm")
    assert found.cuda is not None
    assert found.cuda.require.startswith("arch>=5.0,arch<7.5,driver>=525.60.13,driver<581 ")
    assert dict(plan(found, "sha256:" + "ab" * 32).env)[REQUIREMENT] == found.cuda.require
    assert dict(found.inputs)["spec.require_driver"] == "true"
    without = lock(real_catalog(), Spec(environment="tf-2.15-cuda12.2", base="debian-bookworm"), lock_ports())
    assert [change.field for change in compare(without, found)] == ["require"]
    assert REQUIREMENT not in dict(plan(without, "sha256:" + "ab" * 32).env)


@pytest.mark.parametrize(
    ("environment", "base", "why"),
    [
        ("tf-2.15-cpu", "debian-bookworm", "tf-2.15-cpu needs no driver"),
        ("tf-2.21-cuda12.5", "nvidia-cuda-12.6.3-cudnn9", "has a requirement of its own"),
    ],
)
def test_a_requirement_that_would_be_empty_or_wrong_is_refused(environment: str, base: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        required(environment, base)
    assert "remove `require_driver:`" in caught.value.hint
