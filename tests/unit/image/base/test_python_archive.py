"""Interpreter archives: what is refused, what is rewritten, what is read back."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.elf import open_elf, read_search_path, read_shared_object
from envbuilder.core.errors import InvalidInput, SourceUnreachable, ToolMissing, UsageError
from envbuilder.core.versions import Release
from envbuilder.image.base.interpreter import PackableInterpreter, identify
from envbuilder.image.base.programs import BaseHost, Ran, run_program
from envbuilder.image.base.python_files import select
from envbuilder.image.base.python_survey import inspect
from envbuilder.image.base.uv_tool import from_uv
from envbuilder.oci.tar import writing as tarball
from envbuilder.oci.tar.members import Member, file_of
from tests.unit.curation.wheel_audit.wheels import elf as library

HERE = BaseHost(environ=os.environ, run=run_program)
PATCHLEVEL = b'#define PY_MAJOR_VERSION 3\n#define PY_VERSION      "3.8.18"\n'


def elf(*needed: str, search: str = "", machine: int = 62, shared: str = "other", glibc: str = "2.17") -> bytes:
    """A library.

    Args:
        needed: Sonames.
        search: RUNPATH.
        machine: `e_machine`.
        shared: Name of a symbol; when it ends the search path it shares its bytes.
        glibc: Version of glibc that it needs.
    """
    versions = {"libc.so.6": [f"GLIBC_{glibc}"]}
    return library(needed=needed, runpath=search, machine=machine, symbols=[shared], versions=versions)


def search_of(content: bytes) -> str:
    found = read_search_path(open_elf(BytesIO(content)))
    return found.text if found else ""


def installation(root: Path, program: bytes) -> PackableInterpreter:
    sysconfig = "lib/python3.8/_sysconfigdata__linux_x86_64-linux-gnu.py"
    files = {
        "bin/python3.8": program,
        "bin/pip": b"#!/install/bin/python3.8",
        "include/python3.8/patchlevel.h": PATCHLEVEL,
        "include/python3.8/Python.h": b"",
        "lib/libpython3.8.so.1.0": elf("libc.so.6"),
        "lib/libpython3.8.a": b"",
        "lib/python3.8/os.py": b"",
        "lib/python3.8/test/test_os.py": b"",
        "lib/python3.8/unittest/test/test_case.py": b"",
        "lib/python3.8/unittest/case.py": b"",
        "lib/python3.8/site-packages/six.py": b"",
        "lib/python3.8/__pycache__/os.cpython-38.pyc": b"",
        "lib/python3.8/lib-dynload/_tkinter.cpython-38-x86_64-linux-gnu.so": elf("libtk8.6.so"),
        "lib/python3.8/lib-dynload/zlib.cpython-38-x86_64-linux-gnu.so": elf("libz.so.1", search=f"{root}/lib:/o"),
        "lib/python3.8/EXTERNALLY-MANAGED": b"",
        "lib/python3.8/note.txt": f"built in {root}".encode(),
        sysconfig: (
            f"x = {{'prefix': '/install', 'INSTALL': '/usr/bin/install -c', 'L': '-L/install/lib', 'D': '{root}/lib'}}"
        ).encode(),
    }
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return PackableInterpreter(version=Release("3.8.18"), prefix=root)


def chosen(interpreter: PackableInterpreter) -> dict[str, Member]:
    return {member.path.removeprefix("python/"): member for member in select(interpreter).members}


def test_only_what_an_image_needs_is_packed(tmp_path: Path) -> None:
    members = chosen(installation(tmp_path, elf("libc.so.6")))
    files = {path.removeprefix("lib/python3.8/") for path, member in members.items() if member.size or member.target}
    assert files == {
        "bin/python",
        "bin/python3",
        "bin/python3.8",
        "include/python3.8/patchlevel.h",
        "lib/libpython3.8.so.1.0",
        "lib-dynload/zlib.cpython-38-x86_64-linux-gnu.so",
        "_sysconfigdata__linux_x86_64-linux-gnu.py",
        "note.txt",
    }
    assert "lib/python3.8/site-packages" in members
    assert "lib/python3.8/unittest/case.py" in members
    assert "lib/python3.8/unittest/test" not in members


def test_the_old_place_is_replaced_and_what_is_left_is_reported(tmp_path: Path) -> None:
    interpreter = installation(tmp_path, elf("libpython3.8.so.1.0", "libc.so.6", search=f"{tmp_path}/lib"))
    members = chosen(interpreter)
    text = members["lib/python3.8/_sysconfigdata__linux_x86_64-linux-gnu.py"].read().decode()
    assert text == (
        "x = {'prefix': '/opt/python', 'INSTALL': '/usr/bin/install -c', "
        "'L': '-L/opt/python/lib', 'D': '/opt/python/lib'}"
    )
    program = members["bin/python3.8"].read()
    assert search_of(program) == "$ORIGIN/../lib"
    assert read_shared_object(open_elf(BytesIO(program))).needed == ("libpython3.8.so.1.0", "libc.so.6")
    module = members["lib/python3.8/lib-dynload/zlib.cpython-38-x86_64-linux-gnu.so"]
    assert search_of(module.read()) == "$ORIGIN/../..:/o"
    assert select(interpreter).leftovers == ("python/lib/python3.8/note.txt",)


def test_a_search_path_that_cannot_be_replaced_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "p"
    program = elf("libpython3.8.so.1.0", "libc.so.6", search=f"{root}/lib", shared="lib")
    members = select(installation(root, program)).members
    written = tarball.write(members, tmp_path / "a.tar.gz", gzipped=True)
    found = inspect(written.path)
    assert found.library_dirs == ("python/lib",)
    assert (str(found.version), found.needs, str(found.glibc)) == ("3.8.18", ("libc.so.6", "libz.so.1"), "2.17")
    assert (found.sha256, found.size, found.missing) == (written.sha256, written.size, None)


def test_a_damaged_library_of_an_installation_is_refused(tmp_path: Path) -> None:
    interpreter = installation(tmp_path, elf("libc.so.6")[:100])
    with pytest.raises(UsageError, match="is a damaged ELF file"):
        select(interpreter)


def test_an_incomplete_installation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with pytest.raises(UsageError, match=r"lib/python3\.8/os\.py, include/python3\.8/patchlevel\.h is missing"):
        select(PackableInterpreter(version=Release("3.8.18"), prefix=tmp_path))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"implementation": "pypy"}, "it is pypy"),
        ({"system": "darwin-64", "machine": "arm64"}, "not Linux on x86-64"),
        ({"system": "linux-32"}, "not Linux on x86-64"),
        ({"prefix": "/usr"}, "belongs to the operating system"),
        ({"flags": "t"}, "special build"),
        ({"version": "3.14.0rc1"}, "pre-release"),
    ],
)
def test_other_pythons_are_refused_with_the_reason(change: dict[str, str], reason: str) -> None:
    plain = {
        "implementation": "cpython",
        "system": "linux-64",
        "machine": "x86_64",
        "version": "3.6.15",
        "flags": "m",
        "prefix": "/opt/x",
    }
    assert identify(Path("python"), BaseHost(environ={}, run=Says(json.dumps(plain)))).series == "3.6"
    with pytest.raises(UsageError, match=reason) as caught:
        identify(Path("python"), BaseHost(environ={}, run=Says(json.dumps(plain | change))))
    assert caught.value.hint


class Says:
    """A program that writes one text and ends."""

    def __init__(self, text: str, status: int = 0) -> None:
        self.text, self.status = text, status
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Ran:
        assert isinstance(environ, Mapping)
        assert folder.is_dir()
        self.commands.append(list(command))
        return Ran(status=self.status, stdout=self.text, tail=(self.text,))


@pytest.mark.parametrize("program", ["/bin/false", "/bin/echo", "/nowhere/python"])
def test_what_is_no_python_is_refused(program: str) -> None:
    with pytest.raises(UsageError, match=program):
        identify(Path(program), HERE)


def test_a_virtual_environment_resolves_to_its_installation() -> None:
    installation = Path(sys.base_prefix).resolve()
    if installation == Path("/usr"):
        with pytest.raises(UsageError, match="belongs to the operating system"):
            identify(Path(sys.executable), HERE)
    else:
        assert identify(Path(sys.executable), HERE).prefix == installation


@given(data=st.binary(max_size=300))
def test_any_bytes_are_an_archive_or_our_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "python.tar.gz"
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=r"python\.tar\.gz"):
            inspect(path)


@given(at=st.integers(0, 1500), value=st.integers(0, 255), cut=st.integers(0, 1500))
def test_a_damaged_archive_is_an_archive_or_our_error(at: int, value: int, cut: int) -> None:
    members = [file_of("python/bin/python3.8", elf("libc.so.6"), mtime=0)]
    members.append(file_of("python/include/python3.8/patchlevel.h", PATCHLEVEL, mtime=0))
    with tempfile.TemporaryDirectory() as scratch:
        path = tarball.write(members, Path(scratch) / "a.tar.gz", gzipped=True).path
        whole = path.read_bytes()
        for damaged in (whole[:at] + bytes([value]) + whole[at + 1 :], whole[:cut]):
            path.write_bytes(damaged)
            try:
                found = inspect(path)
            except InvalidInput:
                continue
            assert found.version.major == 3


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([file_of("bin/python3.8", elf("libc.so.6"), mtime=0)], "outside the directory python"),
        ([file_of("python/../x", b"", mtime=0)], "leads outside"),
        ([file_of("python/README", b"", mtime=0)], "holds 0 programs"),
        ([file_of("python/bin/python3.8", elf("libc.so.6", machine=183), mtime=0)], "not for Linux on x86-64"),
        ([file_of("python/bin/python3.8", elf("libc.musl-x86_64.so.1"), mtime=0)], "with glibc"),
        ([file_of("python/bin/python3.8", elf("libc.so.6"), mtime=0)], "does not print its version"),
    ],
)
def test_other_archives_are_refused_with_the_reason(tmp_path: Path, members: list[Member], reason: str) -> None:
    path = tarball.write(members, tmp_path / "other.tar.gz", gzipped=True).path
    with pytest.raises(InvalidInput, match=reason):
        inspect(path)


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"gone\.tar\.gz: .*No such file"):
        inspect(tmp_path / "gone.tar.gz")


def test_uv_is_asked_for_one_exact_build(tmp_path: Path) -> None:
    uv = Says("/pythons/bin/python3.8")
    found = from_uv(Release("3.8.18"), uv=Path("uv"), folder=tmp_path / "p", host=BaseHost(environ={}, run=uv))
    assert found == Path("/pythons/bin/python3.8")
    assert [command[-1] for command in uv.commands] == 2 * ["cpython-3.8.18-linux-x86_64-gnu"]


def test_uv_that_fails_or_is_missing(tmp_path: Path) -> None:
    failing = BaseHost(environ={}, run=Says("error: no download found", status=2))
    with pytest.raises(SourceUnreachable, match="no download found") as caught:
        from_uv(Release("3.5.1"), uv=Path("uv"), folder=tmp_path, host=failing)
    assert "python pack" in caught.value.hint
    with pytest.raises(ToolMissing):
        from_uv(Release("3.8"), uv=tmp_path / "uv", folder=tmp_path, host=HERE)
