"""Every pin lies in exactly one layer, and what changes least lies lowest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.core.memory_policy import ALL, GROWTH, HOOK, VARIABLE, MemoryPolicy, parse
from envbuilder.core.versions import Release
from envbuilder.image.plan.layers import (
    HEAVY,
    LABEL_BASE,
    LABEL_ENVIRONMENT,
    LABEL_LOCK,
    LABEL_MEMORY,
    MOST_LAYERS,
    VERY_LARGE,
    base_reference,
    image_reference,
    plan,
)
from envbuilder.image.plan.plan import LayerKind, Plan
from envbuilder.lock.lock import Lock, PackageGroup, PythonPin, ToolPin
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import pin_of, with_archives
from tests.unit.lock.locks import LOCKS

LOCK = good_lock()
DIGEST = "sha256:" + "ab" * 32


def planned(lock: Lock = LOCK) -> Plan:
    return plan(lock, DIGEST)


def test_the_engine_has_another_base_for_a_lock_that_allows_programs_of_its_os_packages() -> None:
    packages = tuple(replace(pin, file=f"pool/{pin.name}.deb") for pin in LOCK.os_packages)
    plain = replace(LOCK, os_packages=packages)
    assert image_reference(replace(plain, allow=("/usr/bin/sudo",))) != image_reference(plain)
    assert image_reference(replace(plain, allow=("/opt/venv/bin/env",))) == image_reference(plain)


DEBIAN_LOCKS = LOCKS.map(lambda lock: replace(lock, base=replace(lock.base, kind=BaseKind.DEBIAN)))


@given(DEBIAN_LOCKS)
@settings(max_examples=25)
def test_every_pin_is_in_exactly_one_layer_or_a_build_tool(lock: Lock) -> None:
    made = planned(lock)
    tools = (*made.build_tools, *made.own_build_tools)
    placed = [*(pin for layer in made.layers for pin in layer.packages), *tools]
    assert sorted(placed, key=repr) == sorted(lock.packages, key=repr)
    assert tuple(pin for layer in made.layers for pin in layer.os_packages) == lock.os_packages


@given(DEBIAN_LOCKS)
@settings(max_examples=25)
def test_layers_are_in_order_have_ids_of_their_own_and_the_last_holds_the_lock(lock: Lock) -> None:
    made = planned(lock).layers
    order = list(LayerKind)
    assert [order.index(layer.kind) for layer in made] == sorted(order.index(layer.kind) for layer in made)
    assert len({layer.id for layer in made}) == len(made)
    assert (made[0].kind, made[-1].kind) == (LayerKind.BASE, LayerKind.IMAGE)


@given(DEBIAN_LOCKS, st.integers(1, 60))
@settings(max_examples=25)
def test_there_are_never_more_layers_than_an_engine_can_stack_with_room_for_users(lock: Lock, below: int) -> None:
    heavy = [replace(pin, size=HEAVY + number) for number, pin in enumerate(lock.packages)]
    many = [
        replace(pin, name=f"{pin.name}-{copy}", size=HEAVY + copy)
        for pin in heavy
        if pin.group is PackageGroup.PACKAGES
        for copy in range(40)
    ]
    made = plan(replace(lock, packages=(*heavy, *many)), DIGEST, below=below)
    frameworks = len(lock.group(PackageGroup.FRAMEWORK))
    assert len(made.layers) - 1 + below <= max(MOST_LAYERS, below + len(LayerKind) + 2 * frameworks)


def test_a_large_distribution_has_a_layer_of_its_own_and_the_small_ones_share_one() -> None:
    pins = tuple(replace(pin, size=HEAVY if pin.name == "numpy" else HEAVY - 1) for pin in LOCK.packages)
    made = planned(replace(LOCK, packages=pins))
    alone = [layer.id for layer in made.layers if len(layer.packages) == 1 and "." in layer.id]
    assert "packages.numpy" in alone
    assert f"framework.{LOCK.framework}" in alone
    small = made.layer(LayerKind.PACKAGES)
    assert small is not None
    assert small.id == "packages"
    assert "numpy" not in {pin.name for pin in small.packages}


@given(DEBIAN_LOCKS)
@settings(max_examples=25)
def test_the_bytecode_of_each_package_is_in_one_layer_in_the_order_of_the_sources(lock: Lock) -> None:
    made = planned(lock)
    below = made.of(LayerKind.CUDA, LayerKind.FRAMEWORK, LayerKind.PACKAGES)
    compiled = [pin for layer in made.of(LayerKind.BYTECODE) for pin in layer.compiled]
    sources = [pin for layer in below for pin in layer.packages]
    assert sorted(pin.sha256 for pin in compiled) == sorted(pin.sha256 for pin in sources)
    ordered = [[pin for pin in pins if pin.group is not PackageGroup.CUDA] for pins in (compiled, sources)]
    assert ordered[0] == ordered[1]
    assert not any(layer.compiled for layer in made.layers if layer.kind is not LayerKind.BYTECODE)


def test_bytecode_of_a_large_distribution_does_not_hang_on_another_one() -> None:
    large = tuple(replace(pin, size=VERY_LARGE if pin.name == "numpy" else HEAVY) for pin in LOCK.packages)
    ids = [layer.id for layer in planned(replace(LOCK, packages=large)).of(LayerKind.BYTECODE)]
    assert ids == [f"bytecode.{LOCK.framework}", "bytecode.numpy", "bytecode"]


def test_an_own_package_changes_no_layer_but_its_own() -> None:
    without = replace(LOCK, packages=tuple(pin for pin in LOCK.packages if pin.group is not PackageGroup.OWN))
    assert [layer for layer in planned().layers if layer.kind is not LayerKind.OWN] == list(planned(without).layers)


def test_empty_layers_are_left_out() -> None:
    bare = replace(LOCK, packages=(), os_packages=(), cuda=None)
    assert [layer.kind for layer in planned(bare).layers] == [
        LayerKind.BASE,
        LayerKind.INTERPRETER,
        LayerKind.IMAGE,
    ]


def test_os_packages_that_are_unpacked_belong_to_what_an_engine_starts_from() -> None:
    unpacked = replace(LOCK, os_packages=tuple(replace(pin, file=f"pool/{pin.name}.deb") for pin in LOCK.os_packages))
    assert planned(unpacked).base != planned().base or not LOCK.os_packages


def test_libraries_of_the_base_make_no_layer() -> None:
    assert LOCK.cuda is not None
    inside = tuple(pin for pin in LOCK.packages if pin.group is not PackageGroup.CUDA)
    assert planned(replace(LOCK, packages=inside, cuda=replace(LOCK.cuda, links=()))).layer(LayerKind.CUDA) is None


def test_a_source_distribution_is_seen() -> None:
    sources = tuple(replace(pin, file="six-1.16.0.tar.gz") if pin.name == "six" else pin for pin in LOCK.packages)
    made = planned(replace(LOCK, packages=sources))
    assert [layer.kind for layer in made.layers if layer.builds_from_source] == [LayerKind.OWN]


def test_a_debian_base_is_named_by_its_content_and_an_image_by_its_digest() -> None:
    assert str(base_reference(BaseKind.DEBIAN, "debian-new", "", DIGEST)) == "envbuilder/base:debian-new-abababababab"
    reference = base_reference(BaseKind.IMAGE, "image", "localhost:5000/nvidia/cuda:11.0", DIGEST)
    assert str(reference) == f"localhost:5000/nvidia/cuda@{DIGEST}"


def test_the_environment_finds_the_virtual_environment_and_asks_for_gpus() -> None:
    env = dict(planned().env)
    assert env["PATH"].startswith("/opt/venv/bin:")
    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert list(env) == sorted(env)


def test_a_cpu_image_asks_for_no_gpus() -> None:
    assert not [name for name, _ in planned(replace(LOCK, cuda=None)).env if name.startswith("NVIDIA")]


@pytest.mark.parametrize(
    ("memory", "value"), [("all", None), ("growth", "growth"), ("limit:4096MiB,growth", "limit:4GiB,growth")]
)
def test_the_memory_policy_is_an_environment_variable_and_a_label(memory: str, value: str | None) -> None:
    hooked = replace(LOCK, memory=parse(memory), tools=(ToolPin(name=HOOK, version="1", sha256="a" * 64),))
    made = planned(hooked)
    assert dict(made.env).get(VARIABLE) == value
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in dict(made.env)
    assert dict(made.labels)[LABEL_MEMORY] == str(parse(memory))


@pytest.mark.parametrize(("memory", "value"), [(ALL, None), (GROWTH, "true")])
def test_a_lock_from_before_the_hook_keeps_tensorflows_variable(memory: MemoryPolicy, value: str | None) -> None:
    made = planned(replace(LOCK, memory=memory, tools=()))
    assert dict(made.env).get("TF_FORCE_GPU_ALLOW_GROWTH") == value
    assert VARIABLE not in dict(made.env)


def test_the_specs_variables_have_the_last_word() -> None:
    assert dict(planned(replace(LOCK, env=(("LANG", "C"),))).env)["LANG"] == "C"


def test_the_oci_annotations_of_a_base_are_for_images_of_a_registry_and_name_it_in_full() -> None:
    names = ("org.opencontainers.image.base.name", "org.opencontainers.image.base.digest")
    base = replace(LOCK.base, kind=BaseKind.IMAGE, image="nvidia/cuda:11.0.3-runtime")
    labels = dict(planned(replace(LOCK, base=base)).labels)
    assert [labels[name] for name in names] == ["docker.io/nvidia/cuda:11.0.3-runtime", base.digest]
    assert not {*names} & {*dict(planned(replace(LOCK, base=replace(base, kind=BaseKind.DEBIAN))).labels)}
    assert names[1] not in dict(planned(replace(LOCK, base=replace(base, digest=""))).labels)


def test_labels_name_environment_lock_and_base() -> None:
    labels = dict(planned().labels)
    assert labels[LABEL_ENVIRONMENT] == "tf-2.4-cuda11.0"
    assert labels[LABEL_LOCK] == DIGEST
    assert labels[LABEL_BASE] == LOCK.base.id
    assert list(labels) == sorted(labels)


def test_the_title_of_the_interpreter_says_where_it_comes_from() -> None:
    archive = planned().layer(LayerKind.INTERPRETER)
    system = planned(replace(LOCK, python=PythonPin(version=Release("3.8"), provider=PythonProvider.OS))).layer(
        LayerKind.INTERPRETER
    )
    assert archive is not None
    assert system is not None
    assert archive.title.startswith("Python 3.8.18 from an archive")
    assert system.title.startswith("Python 3.8 from the OS")


def test_each_archive_has_a_layer_in_the_order_of_the_lock() -> None:
    pins = [pin_of(name.encode(), ArchiveFormat.TAR_GZIP, name=name) for name in ("cudnn-7.0", "cuda-9.0")]
    layers = planned(with_archives(LOCK, *pins)).of(LayerKind.LIBRARIES)
    assert [layer.id for layer in layers] == ["libraries.cudnn-7.0", "libraries.cuda-9.0"]
    assert [layer.archives for layer in layers] == [(pin,) for pin in pins]
