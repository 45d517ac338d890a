"""CUDA libraries in a wheel are measured from their bytes: soname, hash, cuDNN release, search path."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from datetime import date
from pathlib import Path

import pytest

from envbuilder.catalog.load.tables import read_archives
from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.yaml.canonical import dump
from envbuilder.lock.index.index import IndexFile
from tests.fakes.cuda_libraries import COMPILER
from tests.fakes.index import FakeIndex
from tools.wheel_libraries import MeasuredWheel, chosen, entry, wheel_libraries

NAME = "cupy_cuda90-7.8.0-cp36-cp36m-manylinux1_x86_64.whl"
FILE = IndexFile(file=NAME, sha256="1" * 64, url="memory:wheel")
PUBLISHERS = 'publishers:\n  - id: "pypi"\n    title: "the package index"\n'


def compiled(folder: Path, soname: str, source: str, *options: str) -> bytes:
    (folder / "source.c").write_text(source, encoding="utf-8")
    target = folder / soname
    assert COMPILER
    command = [COMPILER, "-O2", "-shared", "-fPIC", f"-Wl,-soname,{soname}", *options, "-o", str(target)]
    subprocess.run([*command, str(folder / "source.c")], check=True)
    return target.read_bytes()


def wheel(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / NAME
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_libraries_of_cuda_are_found_among_the_files_of_a_wheel(tmp_path: Path) -> None:
    cudnn = compiled(tmp_path, "libcudnn.so.7", "unsigned long cudnnGetVersion() { return 7605; }")
    cudart = compiled(tmp_path, "libcudart.so.9.0", "int f() { return 1; }", "-Wl,-rpath,$ORIGIN")
    members = {"cupy/_lib/libcudnn.so.7": cudnn, "cupy/core.so": b"ELF", "cupy/_lib/libcudart.so.9.0.176": cudart}
    first, second = wheel_libraries(wheel(tmp_path, members))
    assert (first.soname, first.path, first.cudnn) == ("libcudnn.so.7", "cupy/_lib/libcudnn.so.7", "7.6.5")
    assert (first.sha256, first.size, first.runpath) == (hashlib.sha256(cudnn).hexdigest(), len(cudnn), ())
    assert (second.soname, second.cudnn, second.runpath) == ("libcudart.so.9.0", "", ("$ORIGIN",))


def test_a_damaged_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        list(wheel_libraries(wheel(tmp_path, {"cupy/_lib/libcudnn.so.7": b"no ELF file"})))


def test_the_printed_entry_can_be_loaded(tmp_path: Path) -> None:
    cudnn = compiled(tmp_path, "libcudnn.so.7", "unsigned long cudnnGetVersion() { return 7605; }")
    (library,) = wheel_libraries(wheel(tmp_path, {"cupy/.data/lib/libcudnn.so.7": cudnn}))
    measured = MeasuredWheel(release="cupy-cuda90==7.8.0", file=FILE, size=99, libraries=(library,))
    text = dump({"schema": 1, "archives": [entry(measured, date(2026, 11, 22))]})
    (archive,) = read_archives(text + PUBLISHERS, "archives.yaml").archives
    assert (archive.id, archive.file, archive.sha256, archive.size) == ("pypi-cupy-cuda90-7.8.0", NAME, "1" * 64, 99)
    assert [(each.soname, each.sha256) for each in archive.libraries] == [("libcudnn.so.7", library.sha256)]
    assert "cudnnGetVersion returns 7.6.5" in str(archive.sources)


def test_the_wheel_of_one_python_is_measured() -> None:
    others = [
        IndexFile(file=NAME.replace("cp36-cp36m", "cp27-cp27mu"), sha256="2" * 64, url=""),
        IndexFile(file=NAME.replace("manylinux1_x86_64", "win_amd64"), sha256="3" * 64, url=""),
    ]
    index = FakeIndex({("cupy-cuda90", "7.8.0"): [*others, FILE]})
    assert chosen(index, "cupy-cuda90==7.8.0") == FILE
    with pytest.raises(SourceUnreachable, match="none of the 0 listed files"):
        chosen(index, "cupy-cuda90==9.9")
