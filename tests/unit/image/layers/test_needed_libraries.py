"""What a library asks for is read while it streams by."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from envbuilder.image.layers.entries import Entry, completed
from envbuilder.image.layers.layer_writer import write_layer
from envbuilder.image.layers.needed_libraries import Tap, needed, needed_by_file
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.oci.store import Store
from tests.unit.image.layers.wheels import shared_library, wheel

NEEDS = ("libstdc++.so.6", "libc.so.6", "libcudart.so.12")


def seen(tmp_path: Path, content: bytes) -> frozenset[str]:
    path = wheel(tmp_path, {"toy/lib.so": content})
    taps: list[tuple[Entry, Tap]] = []

    def watch(entry: Entry) -> Tap | None:
        if not entry.path.endswith(".so"):
            return None
        taps.append((entry, Tap()))
        return taps[-1][1]

    entries = completed(installed(open_wheel(path, path.name), Prefix(venv="opt/venv", series="3.8")))
    write_layer(entries, Store(folder=tmp_path / "store"), watcher=watch)
    [(entry, tap)] = taps
    return needed(entry, tap)


@pytest.mark.parametrize("padding", [0, 5000, 6 << 20])
def test_names_are_found_wherever_they_lie(tmp_path: Path, padding: int) -> None:
    content = shared_library(NEEDS, padding=padding)
    assert seen(tmp_path, content) == needed_by_file(BytesIO(content)) == frozenset(NEEDS)


@pytest.mark.parametrize("content", [b"no elf" * 99, b"\x7fELF\x01\x01" + bytes(300), shared_library(NEEDS)[:100]])
def test_what_is_no_library_asks_for_nothing(tmp_path: Path, content: bytes) -> None:
    assert seen(tmp_path, content) == needed_by_file(BytesIO(content)) == frozenset()
