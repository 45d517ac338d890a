"""The unpacked interpreter of an image is used again only while it is what was unpacked."""

from __future__ import annotations

from pathlib import Path

from envbuilder.image.layers.image_python import unpacked
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of

KEY = "sha256:" + "0a" * 32
MEMBERS = [
    file_of("usr/bin/python3.8", b"python", mtime=1, mode=0o755),
    file_of("usr/lib/python3.8/os.py", b"import sys", mtime=1),
]


def test_an_interpreter_is_unpacked_once(tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    target = unpacked(MEMBERS, store, KEY)
    assert unpacked([], store, KEY) == target
    assert (target / "usr/lib/python3.8/os.py").read_bytes() == b"import sys"


def test_an_interpreter_to_which_something_was_added_is_unpacked_again(tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    target = unpacked(MEMBERS, store, KEY)
    (target / "usr/lib/python3.8/evil.pth").write_text("import os")
    (target / "usr/lib/python3.8/os.py").write_bytes(b"import SYS")
    assert unpacked(MEMBERS, store, KEY) == target
    assert not (target / "usr/lib/python3.8/evil.pth").exists()
    assert (target / "usr/lib/python3.8/os.py").read_bytes() == b"import sys"


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "targets" / f".{'0a' * 32}.killed.part" / "usr"
    left.mkdir(parents=True)
    unpacked(MEMBERS, Store(folder=tmp_path), KEY)
    assert {path.name for path in (tmp_path / "targets").iterdir()} == {"0a" * 32, f".{'0a' * 32}.manifest"}
