"""Locks survive being written and read, and equal locks are equal bytes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump, dump_pins, load
from tests.fakes.catalogs import good_lock
from tests.unit.lock.locks import LOCKS


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


def test_a_lock_ends_with_one_line_end_and_has_no_carriage_return() -> None:
    text = dump(good_lock())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\r" not in text
