"""What the resolver is asked, and which layer its answers go to."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.environments import BaseChoice
from envbuilder.lock.closures import Chosen
from envbuilder.lock.lock import PackageGroup, PackagePin
from envbuilder.lock.resolve.requests import ResolvedDistributions, build_request, layered, own_request, row_request
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import real_row, small_row
from tests.fakes.resolver import chosen

ROW = small_row("tf-2.4-cuda11.0")
IMAGE, DEBIAN = ROW.bases
SHARED = (
    chosen("numpy", "1.19.5"),
    chosen("nvidia-cublas-cu11", "11.11.3.6"),
    chosen("nvidia-extra-cu11", "1.0"),
    chosen("tensorflow-gpu", "2.4.4"),
)


def in_layers(
    choice: BaseChoice,
    shared: tuple[Chosen, ...],
    complete: tuple[Chosen, ...],
    *,
    added: tuple[Chosen, ...] = (),
    build: tuple[Chosen, ...] = (),
) -> tuple[PackagePin, ...]:
    return layered(ROW, choice, ResolvedDistributions(shared=shared, added=added, complete=complete, build=build))


def groups(pins: tuple[PackagePin, ...]) -> dict[str, str]:
    return {pin.name: pin.group.value for pin in pins}


def test_packages_without_a_wheel_for_one_interpreter_are_built_on_its_base_only() -> None:
    row, choice = replace(ROW, source_builds=("gast",)), replace(DEBIAN, source_builds=("termcolor",))
    assert row_request(row, choice).source_builds == ("gast", "termcolor")
    assert row_request(row, DEBIAN).source_builds == ("gast",)


def test_a_row_is_asked_for_with_its_libraries_additions_and_bounds() -> None:
    request = row_request(ROW, DEBIAN)
    assert request.requirements == (
        "h5py<3",
        "nvidia-cublas-cu11==11.11.3.6",
        "nvidia-cudnn-cu11==8.6.0.163",
        "tensorflow-gpu==2.4.4",
    )
    assert request.constraints == ("protobuf<3.21",)
    assert (str(request.python), str(request.glibc), request.cutoff) == ("3.8", "2.36", date(2023, 6, 1))


def test_on_an_image_with_cuda_no_library_wheels_are_asked_for() -> None:
    assert row_request(ROW, IMAGE).requirements == ("h5py<3", "tensorflow-gpu==2.4.4")


def test_what_os_packages_provide_is_left_out() -> None:
    row = real_row("tf-2.11-cuda11.2")
    choice = next(choice for choice in row.bases if choice.system.id == "debian-bullseye")
    assert row_request(row, choice).leave_out == ("nvidia-cublas-cu11",)


def test_own_packages_keep_the_rows_versions_as_preferences_and_its_bounds() -> None:
    shared = row_request(ROW, DEBIAN)
    spec = Spec(environment=ROW.id, packages=("six", "h5py<3"), source_builds=("six",), cutoff=date(2023, 9, 1))
    request = own_request(ROW, shared, spec, SHARED)
    assert set(request.requirements) == {*shared.requirements, "six"}
    assert request.constraints == shared.constraints
    assert request.preferred[0] == "numpy==1.19.5"
    assert request.source_builds == ("six",)
    assert request.cutoff == date(2023, 9, 1)


def test_own_packages_are_of_the_rows_day_unless_the_spec_names_one() -> None:
    shared = row_request(ROW, DEBIAN)
    assert own_request(ROW, shared, Spec(environment=ROW.id), ()).cutoff == ROW.cutoff


def test_the_rows_tensorflow_stands_for_every_other_distribution_of_tensorflow() -> None:
    provided = own_request(ROW, row_request(ROW, DEBIAN), Spec(environment=ROW.id), ()).provided
    assert {"tensorflow==2.4.4", "tensorflow-cpu==2.4.4", "tf-nightly-gpu==2.4.4"} < set(provided)
    assert "tensorflow-gpu==2.4.4" not in provided


def test_build_tools_are_not_older_than_the_interpreter_can_run() -> None:
    request = build_request(row_request(small_row("tf-1.7-cuda9.0"), small_row("tf-1.7-cuda9.0").bases[0]))
    assert request.cutoff == date(2025, 1, 1)
    assert request.requirements == ("setuptools", "wheel")


def test_every_kind_of_distribution_has_its_layer() -> None:
    complete = (*SHARED, chosen("six", "1.16.0"))
    pins = in_layers(DEBIAN, SHARED, complete, build=(chosen("setuptools", "75.0"),))
    assert groups(pins) == {
        "nvidia-cublas-cu11": "cuda",
        "nvidia-extra-cu11": "cuda",
        "tensorflow-gpu": "framework",
        "numpy": "packages",
        "six": "own",
        "setuptools": "build",
    }
    assert [pin.group for pin in pins] == sorted((pin.group for pin in pins), key=list(PackageGroup).index)


def test_an_own_package_that_moves_a_shared_one_puts_its_new_version_into_the_own_layer() -> None:
    complete = (*SHARED[1:], chosen("numpy", "1.22.0"), chosen("pandas", "1.4.0"))
    pins = in_layers(DEBIAN, SHARED, complete)
    own = {(pin.name, pin.version) for pin in pins if pin.group is PackageGroup.OWN}
    assert own == {("numpy", "1.22.0"), ("pandas", "1.4.0")}


def test_what_profiles_add_is_in_their_layer_unless_own_packages_move_it() -> None:
    added = (chosen("ipykernel", "6.0"), chosen("tornado", "6.1"))
    complete = (*SHARED, added[0], chosen("tornado", "6.2"))
    found = groups(in_layers(DEBIAN, SHARED, complete, added=added))
    assert (found["ipykernel"], found["tornado"]) == ("profile", "own")


def test_on_an_image_with_cuda_an_nvidia_package_is_an_ordinary_one() -> None:
    shared = (chosen("nvidia-ml-py", "12.0"), chosen("tensorflow-gpu", "2.4.4"))
    assert groups(in_layers(IMAGE, shared, shared))["nvidia-ml-py"] == "packages"


DISTRIBUTIONS = st.dictionaries(
    st.sampled_from(["numpy", "six", "tensorflow-gpu", "nvidia-cublas-cu11", "wheel", "zipp"]),
    st.sampled_from(["1.0", "2.0"]),
).map(lambda versions: tuple(chosen(name, version) for name, version in sorted(versions.items())))


@given(DISTRIBUTIONS, DISTRIBUTIONS, DISTRIBUTIONS)
def test_nothing_that_was_resolved_is_lost_or_doubled(
    shared: tuple[Chosen, ...], complete: tuple[Chosen, ...], build: tuple[Chosen, ...]
) -> None:
    pins = in_layers(DEBIAN, shared, complete, build=build)
    inside = sorted((pin.name, pin.version) for pin in pins if pin.group is not PackageGroup.BUILD)
    assert set(inside) >= {(each.name, each.version) for each in complete}
    assert len({(pin.name, pin.group) for pin in pins}) == len(pins)
    assert [pin.name for pin in pins if pin.group is PackageGroup.BUILD] == sorted(each.name for each in build)
