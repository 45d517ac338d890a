"""An image is known by its layers: upper ones win, and nothing is run or unpacked."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.contents import ImageContent, LibraryFile
from envbuilder.image.layer_contents import survey

SITE = "opt/venv/lib/python3.8/site-packages"
CUDNN = "usr/lib/x86_64-linux-gnu/libcudnn.so.7.6.5"
ELF = b"\x7fELF" + bytes(100)


def layer(
    files: Mapping[str, bytes],
    links: Mapping[str, tuple[bytes, str]] | None = None,
    *,
    modes: Mapping[str, int] | None = None,
    capabilities: tuple[str, ...] = (),
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.mode = (modes or {}).get(path, 0o644)
            info.pax_headers = {"SCHILY.xattr.security.capability": "x"} if path in capabilities else {}
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for path, (kind, target) in (links or {}).items():
            info = tarfile.TarInfo(path)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return gzip.compress(out.getvalue())


def look(folder: Path, *layers: bytes, config: Mapping[str, object] | None = None) -> ImageContent:
    def fetching(content: bytes) -> Callable[[Path], None]:
        def fetch(target: Path) -> None:
            target.write_bytes(content)

        return fetch

    return survey([fetching(each) for each in layers], config or {}, "", read, folder)


def read(path: str, stream: BinaryIO) -> LibraryFile:
    assert stream.read() == ELF
    return LibraryFile(path=path, needed=("libx.so.1",))


def test_paths_libraries_texts_and_digests_are_seen(tmp_path: Path) -> None:
    record = f"{SITE}/six-1.dist-info/RECORD"
    content = look(
        tmp_path,
        layer({"usr/lib/liba.so": ELF, CUDNN: b"cudnn", record: b"six.py,,", "app/run": b"run", "usr/bin/x": b"x"}, {
            "usr/lib/libb.so": (tarfile.SYMTYPE, "liba.so"), "usr/lib/libc.so": (tarfile.LNKTYPE, "usr/lib/liba.so"),
        }),
    )  # fmt: skip
    assert content.paths["usr/lib/libb.so"] == "liba.so"
    assert [library.path for library in content.libraries] == ["usr/lib/liba.so", "usr/lib/libc.so"]
    assert content.texts == {record: b"six.py,,"}
    assert content.digests == {
        record: hashlib.sha256(b"six.py,,").hexdigest(),
        "app/run": hashlib.sha256(b"run").hexdigest(),
        CUDNN: hashlib.sha256(b"cudnn").hexdigest(),
    }
    assert list(tmp_path.iterdir()) == []


def test_what_lies_higher_wins_and_whiteouts_take_away(tmp_path: Path) -> None:
    below = layer({"a/one": b"1", "a/two": b"2", "b/three": b"3", "c": ELF, "d/x/y": b"y"})
    above = layer({"a/.wh.one": b"", "b/.wh..wh..opq": b"", "b/four": b"4", "c": b"text", ".wh.d": b""})
    content = look(tmp_path, below, above)
    assert sorted(content.paths) == ["a/two", "b/four", "c"]
    assert content.libraries == ()
    assert len(content.diff_ids) == 2


def test_the_configuration_says_who_made_it_and_how_it_runs(tmp_path: Path) -> None:
    config = {
        "config": {"Env": ["A=1=2", "B="], "Labels": {"l": "v"}, "User": "1000:1000", "WorkingDir": "/workspace"},
        "history": [{"created_by": "envbuilder: base"}],
    }
    content = look(tmp_path, config=config)
    assert (content.env, content.labels) == ({"A": "1=2", "B": ""}, {"l": "v"})
    assert (content.user, content.folder, content.assembled) == ("1000:1000", "/workspace", True)
    assert not look(tmp_path, config={"config": None, "history": [{}]}).assembled


def test_a_damaged_layer_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed):
        look(tmp_path, layer({"a": bytes(100_000)})[:-20])
    assert list(tmp_path.iterdir()) == []


def test_programs_with_rights_of_another_account_are_seen_in_the_layer_that_wins(tmp_path: Path) -> None:
    modes = {"usr/bin/su": 0o4755, "usr/bin/wall": 0o2755, "usr/bin/gone": 0o4755}
    below = layer(dict.fromkeys(modes, b"x"), {"usr/bin/su2": (tarfile.LNKTYPE, "usr/bin/su")}, modes=modes)
    above = layer({"usr/bin/gone": b"x", "usr/bin/ping": b"x"}, capabilities=("usr/bin/ping",))
    assert look(tmp_path, below, above).privileged == {
        "usr/bin/su": "set-user-ID",
        "usr/bin/su2": "set-user-ID",
        "usr/bin/wall": "set-group-ID",
        "usr/bin/ping": "capabilities",
    }


def test_what_layers_remove_is_noted_of_those_that_were_assembled(tmp_path: Path) -> None:
    layers = layer({"a/x": b"", "b": b""}), layer({"a/.wh.x": b""}), layer({".wh.b": b"", "a/.wh..wh..opq": b""})
    config = {"history": [{"created_by": "RUN"}, {"created_by": "RUN"}, {"created_by": "envbuilder: own"}]}
    assert look(tmp_path, *layers, config=config).removed == ("b", "a/*")
    assert look(tmp_path, *layers).removed == ()


def test_a_file_or_link_in_place_of_a_folder_takes_away_what_was_in_it(tmp_path: Path) -> None:
    content = look(
        tmp_path, layer({"a/x/y": b"", "b/z": b""}), layer({"b": b"", "c/d": b""}, {"a": (tarfile.SYMTYPE, "c")})
    )
    assert sorted(content.paths) == ["a", "b", "c/d"]
    assert sorted(look(tmp_path, layer({"a": b""}), layer({"a/x": b""})).paths) == ["a", "a/x"]
