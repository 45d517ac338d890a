"""Two locks are compared pin by pin."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.lock.diff import compare
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin, ToolPin
from tests.fakes.catalogs import good_lock
from tests.unit.lock.locks import LOCKS

LOCK = good_lock()
SIX = next(pin for pin in LOCK.packages if pin.name == "six")


def told(new: Lock) -> list[str]:
    return [str(change) for change in compare(LOCK, new)]


def with_package(*pins: PackagePin) -> Lock:
    return replace(LOCK, packages=tuple(pin for pin in LOCK.packages if pin.name != "six") + pins)


@given(LOCKS)
@settings(max_examples=25)
def test_a_lock_does_not_differ_from_itself(lock: Lock) -> None:
    assert not compare(lock, lock)


@given(LOCKS)
@settings(max_examples=25)
def test_the_other_direction_tells_the_same_fields(lock: Lock) -> None:
    there, back = compare(LOCK, lock), compare(lock, LOCK)
    assert [(change.field, change.old) for change in there] == [(change.field, change.new) for change in back]


def test_a_package_that_goes_comes_or_moves_is_told_by_its_sign() -> None:
    assert told(with_package()) == ["- packages.own.six 1.16.0 c181e133354c"]
    assert told(with_package(SIX, replace(SIX, name="seven", version="7.0"))) == [
        "+ packages.own.seven 7.0 c181e133354c"
    ]
    assert told(with_package(replace(SIX, version="1.17.0", sha256="0" * 64))) == [
        "~ packages.own.six 1.16.0 c181e133354c -> 1.17.0 000000000000"
    ]


def test_another_file_of_the_same_version_is_a_difference() -> None:
    assert told(with_package(replace(SIX, sha256="0" * 64)))


def test_a_package_that_changes_its_layer_is_told_twice() -> None:
    assert told(with_package(replace(SIX, group=PackageGroup.PACKAGES))) == [
        "- packages.own.six 1.16.0 c181e133354c",
        "+ packages.packages.six 1.16.0 c181e133354c",
    ]


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (replace(LOCK, base=replace(LOCK.base, digest="sha256:" + "0" * 64)), "base"),
        (replace(LOCK, base=replace(LOCK.base, missing=("x-security",))), "base.missing.x-security"),
        (replace(LOCK, tools=(ToolPin(name="uv", version="0.14", sha256="0" * 64),)), "tools.uv"),
        (replace(LOCK, env=(("ZED", "first"), *LOCK.env[:1])), "env.ZED"),
        (replace(LOCK, user=replace(LOCK.user, uid=7)), "user"),
        (replace(LOCK, os_packages=LOCK.os_packages[1:]), "os_packages.curl"),
        (replace(LOCK, python=replace(LOCK.python, sha256="0" * 64)), "python"),
        (replace(LOCK, prioritized_files=(("own", ("/opt/x",)),)), "prioritized_files.own"),
    ],
)
def test_every_other_pin_is_compared_too(new: Lock, field: str) -> None:
    assert [change.field for change in compare(LOCK, new)] == [field]


def test_a_lock_that_lost_its_cuda_says_so() -> None:
    fields = [change.field for change in compare(LOCK, replace(LOCK, cuda=None))]
    assert {"cuda", "cudnn", "links.libcusolver.so.10"} <= set(fields)


def test_inputs_are_left_out() -> None:
    assert not compare(LOCK, replace(LOCK, inputs=()))


def test_an_archive_and_each_library_of_it_are_told() -> None:
    assert LOCK.cuda
    pin = ArchivePin(
        id="cuda-9.0.176-runfile",
        format=ArchiveFormat.MAKESELF,
        publisher="vendor",
        path="cuda.run",
        file="cuda.run",
        sha256="ab" * 32,
        libraries=(ArchivedLibrary(soname="libcublas.so.9.0", path="lib64/libcublas.so.9.0", sha256="cd" * 32),),
    )
    cuda = replace(LOCK.cuda, archives=(pin,))
    assert told(replace(LOCK, cuda=cuda)) == [
        "+ archives.cuda-9.0.176-runfile abababababab",
        "+ archives.cuda-9.0.176-runfile.libcublas.so.9.0 lib64/libcublas.so.9.0 cdcdcdcdcdcd",
    ]
