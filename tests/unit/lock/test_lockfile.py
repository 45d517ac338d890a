"""Locks survive being written and read, and equal locks are equal bytes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.catalog.environments import CudaProvider
from envbuilder.core.errors import InvalidInput
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump, dump_pins, load
from tests.fakes.catalogs import good_lock
from tests.unit.lock.locks import LOCKS

ARCHIVE = ArchivePin(
    id="cuda-9.0.176-runfile",
    format=ArchiveFormat.MAKESELF_NESTED,
    publisher="vendor",
    path="9.0/cuda-run",
    file="cuda-run",
    sha256="ab" * 32,
    inner="run_files/cuda.run",
    libraries=(ArchivedLibrary(soname="libcublas.so.9.0", path="lib64/libcublas.so.9.0"),),
)


@given(LOCKS)
@settings(max_examples=40)
def test_a_dumped_lock_loads_as_itself(lock: Lock) -> None:
    text = dump(lock)
    assert load(text, "file") == lock
    assert dump(load(text, "file")) == text


@given(st.text(max_size=80))
def test_any_text_gives_a_lock_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        load(text, "file")


@given(st.data())
@settings(max_examples=40)
def test_a_lock_with_a_piece_cut_out_gives_a_lock_or_our_error(data: st.DataObject) -> None:
    text = dump(good_lock())
    start = data.draw(st.integers(0, len(text)))
    with suppress(InvalidInput):
        load(text[:start] + text[data.draw(st.integers(start, len(text))) :], "file")


def test_the_digest_is_the_identity_of_the_text() -> None:
    lock = good_lock()
    assert digest(lock) == digest(replace(lock))
    assert digest(lock) != digest(replace(lock, epoch=lock.epoch + 1))
    assert digest(lock).startswith("sha256:")


def test_the_name_of_the_image_is_in_the_text_and_no_part_of_the_identity() -> None:
    lock = good_lock()
    named = replace(lock, name="vision")
    assert load(dump(named), "envbuilder.lock") == named
    assert (digest(named), dump_pins(named)) == (digest(lock), dump_pins(lock))


def with_archives(*archives: ArchivePin, provider: CudaProvider = CudaProvider.ARCHIVE) -> Lock:
    lock = good_lock()
    assert lock.cuda
    return replace(lock, cuda=replace(lock.cuda, provider=provider, archives=archives))


def faults(lock: Lock) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        load(dump(lock), "envbuilder.lock")
    return [f"{fault.field}: {fault.problem}" for fault in caught.value.faults]


def test_a_lock_with_archives_loads_as_itself() -> None:
    lock = with_archives(ARCHIVE)
    assert load(dump(lock), "envbuilder.lock") == lock


def test_archives_are_of_a_lock_whose_libraries_come_from_archives_and_only_of_one() -> None:
    problem = "cuda.archives: must be given for libraries of archives, and only for these"
    assert faults(with_archives()) == [problem]
    assert faults(with_archives(ARCHIVE, provider=CudaProvider.WHEELS)) == [problem]


def test_a_library_comes_from_one_archive() -> None:
    assert faults(with_archives(ARCHIVE, replace(ARCHIVE, id="another"))) == [
        "cuda.archives[1].libraries[0].soname: libcublas.so.9.0 comes from two archives"
    ]


def test_a_nested_run_file_names_the_one_inside() -> None:
    assert faults(with_archives(replace(ARCHIVE, inner=""))) == [
        "cuda.archives[0].inner: must be given for a nested run file, and only for one"
    ]


def test_a_lock_without_archives_says_nothing_of_them() -> None:
    assert "archives" not in dump(good_lock())


def test_a_lock_ends_with_one_line_end_and_has_no_carriage_return() -> None:
    text = dump(good_lock())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\r" not in text
