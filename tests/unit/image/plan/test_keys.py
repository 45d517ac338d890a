"""The key of a layer changes with everything that decides its content, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings

from envbuilder.catalog.archives import ArchiveFormat, ArchivePin
from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.core import memory_policy as memory
from envbuilder.core.versions import Release
from envbuilder.image.plan.keys import layer_key, python_key
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import CudaPin, Lock, OsPackagePin, PackageGroup, PackagePin, PythonPin, ToolPin
from envbuilder.oci.images import LayerFormat
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import pin_of, with_archives
from tests.unit.lock.locks import LOCKS

LOCK = good_lock()
OTHER = "cd" * 32
Change = Callable[[Lock], Lock]
BYTECODE = {"bytecode.tensorflow-gpu", "bytecode"}
ALL = {"base", "system", "interpreter", "framework.tensorflow-gpu", "packages", "links", *BYTECODE, "own", "image"}
FROM_OS = replace(LOCK, python=PythonPin(version=Release("3.8"), provider=PythonProvider.OS))


def keys(
    lock: Lock, layer_format: LayerFormat = LayerFormat.GZIP_SPLICED, *, inputs: tuple[str, ...] = ()
) -> dict[str, str]:
    planned = plan(lock, "sha256:" + "ab" * 32)
    return {layer.id: layer_key(planned, layer, layer_format, image_inputs=inputs) for layer in planned.layers}


def changed(before: Lock, change: Change) -> set[str]:
    old, new = keys(before), keys(change(before))
    assert old.keys() == new.keys()
    return {name for name in old if old[name] != new[name]}


def cuda(lock: Lock) -> CudaPin:
    assert lock.cuda is not None
    return lock.cuda


def with_pin(name: str, **changes: str) -> Change:
    def change(lock: Lock) -> Lock:
        pins = tuple(replace(pin, **changes) if pin.name == name else pin for pin in lock.packages)  # type: ignore[arg-type]
        assert pins != lock.packages
        return replace(lock, packages=pins)

    return change


def with_os_package(lock: Lock) -> Lock:
    return replace(lock, os_packages=(*lock.os_packages[1:], replace(lock.os_packages[0], sha256=OTHER)))


def with_archive(lock: Lock) -> Lock:
    return replace(lock, python=replace(lock.python, sha256=OTHER))


def with_series(lock: Lock) -> Lock:
    return replace(lock, python=replace(lock.python, version=Release("3.9.1")))


def with_base(lock: Lock) -> Lock:
    return replace(lock, base=replace(lock.base, digest=f"sha256:{OTHER}"))


def with_links(lock: Lock) -> Lock:
    links = (LibraryLink(name="libcusolver.so.10", target="libcusolver.so.12"),)
    return replace(lock, cuda=replace(cuda(lock), links=links))


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        pytest.param(with_base, {"base", "system", "interpreter"}, id="base"),
        pytest.param(with_os_package, {"system", "interpreter"}, id="os package"),
        pytest.param(lambda lock: replace(lock, allow=("/usr/bin/sudo",)), {"system"}, id="program of the system"),
        pytest.param(lambda lock: replace(lock, allow=("/opt/venv/bin/env",)), {"own"}, id="file of an own package"),
        pytest.param(lambda lock: replace(lock, user=replace(lock.user, uid=77)), {"interpreter"}, id="account"),
        pytest.param(with_archive, {"interpreter", *BYTECODE, "own"}, id="interpreter"),
        pytest.param(with_series, ALL - {"base", "system", "image"}, id="series"),
        pytest.param(
            with_pin("tensorflow-gpu", sha256=OTHER),
            {"framework.tensorflow-gpu", "bytecode.tensorflow-gpu"},
            id="framework",
        ),
        pytest.param(with_pin("numpy", sha256=OTHER), {"packages", "bytecode"}, id="package"),
        pytest.param(with_pin("numpy", file="numpy-1.0-cp38-x.whl"), {"packages", "bytecode"}, id="file name"),
        pytest.param(with_pin("nvidia-cublas-cu11", sha256=OTHER), {"packages", "links", "bytecode"}, id="cuda"),
        pytest.param(with_pin("six", sha256=OTHER), {"own"}, id="own"),
        pytest.param(with_links, {"links"}, id="links"),
    ],
)
def test_an_input_touches_the_layers_that_it_decides(change: Change, touched: set[str]) -> None:
    assert changed(LOCK, change) == touched


def test_the_layer_of_profiles_hangs_on_its_packages_and_its_interpreter_only() -> None:
    tool = replace(LOCK.group(PackageGroup.OWN)[0], name="ipykernel", group=PackageGroup.PROFILE)
    with_tools = replace(LOCK, packages=(*LOCK.packages, tool), profiles=("jupyter",))
    assert keys(with_tools).keys() - keys(LOCK).keys() == {"profile"}
    assert {name: key for name, key in keys(with_tools).items() if name != "profile"} == keys(LOCK)
    assert changed(with_tools, with_pin("ipykernel", sha256=OTHER)) == {"profile"}
    assert "profile" in changed(with_tools, with_archive)
    assert "profile" not in changed(with_tools, with_pin("six", sha256=OTHER))
    assert "profile" not in changed(with_tools, lambda lock: replace(lock, allow=("/opt/venv/bin/env",)))
    assert changed(with_tools, lambda lock: replace(lock, profiles=("another",))) == set()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lock: replace(lock, epoch=1), id="epoch"),
        pytest.param(lambda lock: replace(lock, sources=("elsewhere",)), id="sources"),
        pytest.param(lambda lock: replace(lock, summary="other words"), id="summary"),
        pytest.param(lambda lock: replace(lock, environment="other-name"), id="environment"),
        pytest.param(lambda lock: replace(lock, env=(("A", "b"),)), id="env"),
        pytest.param(lambda lock: replace(lock, memory=memory.ALL), id="memory"),
        pytest.param(lambda lock: replace(lock, deviations=(), refused=(), inputs=()), id="reasons"),
        pytest.param(lambda lock: replace(lock, tools=(ToolPin(name="uv", version="1", sha256=OTHER),)), id="tools"),
        pytest.param(
            lambda lock: replace(lock, cuda=replace(cuda(lock), driver=Release("1.0"), sonames=())), id="driver"
        ),
        pytest.param(lambda lock: replace(lock, packages=lock.packages[::-1]), id="order"),
        pytest.param(lambda lock: replace(lock, base=replace(lock.base, packages=())), id="what the base lists"),
    ],
)
def test_what_does_not_matter_touches_nothing(change: Change) -> None:
    assert change(LOCK) != LOCK
    assert changed(LOCK, change) == set()


def test_the_packing_touches_everything() -> None:
    spliced, plain = keys(LOCK), keys(LOCK, LayerFormat.TAR)
    assert spliced.keys() == plain.keys() == ALL
    assert not set(spliced.values()) & set(plain.values())


def test_the_last_layer_hangs_on_what_it_holds_whatever_the_order() -> None:
    one = keys(LOCK, inputs=("lock", "probe"))
    assert keys(LOCK, inputs=("probe", "lock")) == one
    other = keys(LOCK, inputs=("lock", "other"))
    assert {name for name in one if one[name] != other[name]} == {"image"}


def test_bytecode_of_an_interpreter_of_the_os_hangs_on_the_os() -> None:
    assert changed(FROM_OS, with_os_package) == {"system", "interpreter", *BYTECODE, "own"}
    assert changed(FROM_OS, with_base) == {"base", "system", "interpreter", *BYTECODE, "own"}


def test_build_tools_matter_only_where_something_is_built() -> None:
    tool = PackagePin(name="setuptools", version="1", file="s-1.whl", sha256=OTHER, group=PackageGroup.BUILD)
    with_tool = replace(LOCK, packages=(*LOCK.packages, tool))
    newer = with_pin("setuptools", sha256="ef" * 32)
    assert changed(with_tool, newer) == set()
    assert changed(with_pin("six", file="six-1.16.0.tar.gz")(with_tool), newer) == {"own"}
    assert changed(with_pin("numpy", file="numpy-1.0.tar.gz")(with_tool), newer) == {"packages", "bytecode"}


def test_a_wheel_that_is_built_hangs_on_the_interpreter() -> None:
    built = with_pin("numpy", file="numpy-1.0.tar.gz")(LOCK)
    assert changed(built, with_archive) == {"interpreter", "packages", *BYTECODE, "own"}


def test_the_key_of_the_interpreter_is_that_of_all_it_runs_on() -> None:
    key = python_key(LOCK)
    assert len({key, *(python_key(change(LOCK)) for change in (with_base, with_os_package, with_archive))}) == 4
    more = replace(LOCK, os_packages=(*LOCK.os_packages, OsPackagePin(name="zsh", version="1")))
    assert python_key(more) != key
    assert python_key(with_pin("six", sha256=OTHER)(LOCK)) == key


def test_the_keys_are_pinned() -> None:
    assert keys(LOCK)["own"] == "sha256:47a54c8d5624f20dfe12d6672072dcb9aad68c41fc4b1da944cd257197d336bb"
    assert keys(LOCK)["packages"] == "sha256:b1bd461c0761aa0fb15207c8d6c4436d908a7b26566e9a08e14eacde91827df8"


@given(LOCKS.map(lambda lock: replace(lock, base=replace(lock.base, kind=BaseKind.DEBIAN))))
@settings(max_examples=15)
def test_no_two_layers_of_a_plan_have_one_key(lock: Lock) -> None:
    found = keys(lock)
    assert len(set(found.values())) == len(found)
    assert keys(replace(lock, epoch=lock.epoch + 1, image=None)) == found


ARCHIVE = pin_of(b"archive", ArchiveFormat.MAKESELF)
OF_ARCHIVE = with_archives(LOCK, ARCHIVE)
LIBRARY = ARCHIVE.libraries[0]


@pytest.mark.parametrize(
    "pin",
    [
        replace(ARCHIVE, sha256=OTHER),
        replace(ARCHIVE, inner="run_files/x.run"),
        replace(ARCHIVE, eula="EULA.txt"),
        replace(ARCHIVE, libraries=(replace(LIBRARY, path="lib/l.so"),)),
        replace(ARCHIVE, libraries=(replace(LIBRARY, soname="l.so"),)),
    ],
    ids=["sha256", "inner", "license", "path", "soname"],
)
def test_another_archive_or_library_changes_its_layer_alone(pin: ArchivePin) -> None:
    assert changed(OF_ARCHIVE, lambda lock: with_archives(lock, pin)) == {f"libraries.{ARCHIVE.id}"}


@pytest.mark.parametrize(
    "pin",
    [
        replace(ARCHIVE, publisher="somebody", path="elsewhere", file="x", size=1),
        replace(ARCHIVE, libraries=tuple(replace(each, sha256=OTHER) for each in ARCHIVE.libraries)),
    ],
    ids=["place", "hash that became known"],
)
def test_where_an_archive_is_and_what_was_learned_of_it_changes_nothing(pin: ArchivePin) -> None:
    assert not changed(OF_ARCHIVE, lambda lock: with_archives(lock, pin))


def with_build_stage(lock: Lock) -> Lock:
    tool = PackagePin(name="cmake", version="1", file="c-1.whl", sha256=OTHER, group=PackageGroup.OWN_BUILD)
    compiler = OsPackagePin(name="g++", version="12", sha256=OTHER, file="pool/g/g.deb")
    made = replace(lock, packages=(*lock.packages, tool), build_os_packages=(compiler,))
    return with_pin("six", file="six-1.16.0.tar.gz")(made)


def test_a_build_stage_matters_only_to_own_packages_that_are_built() -> None:
    lock = with_build_stage(LOCK)
    newer = replace(lock.build_os_packages[0], version="13", sha256="ef" * 32)
    assert changed(LOCK, lambda _: replace(LOCK, build_os_packages=lock.build_os_packages)) == set()
    assert changed(lock, lambda lock: replace(lock, build_os_packages=(newer,))) == {"own"}
    assert changed(lock, with_pin("cmake", sha256="ef" * 32)) == {"own"}
    assert changed(lock, with_os_package) == {"system", "interpreter", "own"}
    assert changed(lock, lambda lock: replace(lock, build_env=(("WITH_GPU", "1"),))) == {"own"}
    assert changed(LOCK, lambda lock: replace(lock, build_env=(("WITH_GPU", "1"),))) == set()


def test_an_own_package_that_is_built_hangs_on_the_environment_below_it() -> None:
    lock = with_build_stage(LOCK)
    assert "own" in changed(lock, with_pin("numpy", sha256="ef" * 32))
    assert "own" not in changed(LOCK, with_pin("numpy", sha256="ef" * 32))


def test_a_list_of_files_that_are_fetched_first_changes_its_layers_where_they_have_an_order() -> None:
    listed = replace(LOCK, prioritized_files=(("framework.tensorflow-gpu", ("/opt/a",)), ("missing", ("/opt/b",))))
    for layer_format in LayerFormat:
        old, new = keys(LOCK, layer_format), keys(listed, layer_format)
        different = {name for name in old if old[name] != new[name]}
        assert different == ({"framework.tensorflow-gpu"} if layer_format is LayerFormat.ESTARGZ else set())
