"""What the interpreter of an image and the build scripts of packages can do during a build: in real sandboxes."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed, ToolFailed, ToolMissing
from envbuilder.image.layers.build_stage import build_in_stage, unpack_stage
from envbuilder.image.layers.bytecode import bytecode
from envbuilder.image.layers.entries import link, text
from envbuilder.image.layers.image_python import TargetPython
from envbuilder.image.layers.interpreter import venv_entries
from envbuilder.image.layers.sdists import build_wheel
from envbuilder.image.layers.wheels import Prefix
from envbuilder.oci.runtime.interpreter_guard import Guard
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import candidates, why_not
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import of_folder
from tests.contract.conftest import REQUIRED
from tests.interpreters.interpreters import interpreters

PROGRAM = Path("/usr/bin/python3").resolve()
SERIES = PROGRAM.name.removeprefix("python")
LIBRARY = Path("/usr/lib", PROGRAM.name)
LIBRARIES = "usr/lib/x86_64-linux-gnu"
SETUPTOOLS = """
import pathlib, sys, zipfile
def setup(seen):
    out = pathlib.Path(sys.argv[sys.argv.index("--dist-dir") + 1])
    out.mkdir()
    with zipfile.ZipFile(out / "toy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("seen.txt", "\\n".join(seen))
"""
SETUP = """
import os, pathlib, socket, setuptools, sys
seen = [str(path) for path in map(pathlib.Path, {paths!r}) if path.exists()]
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    seen.append("network")
except OSError:
    pass
for folder in ("/", "/usr", "/mnt/source", "/mnt/tools"):
    try:
        pathlib.Path(folder, "written").write_text("x")
        seen.append("writes " + folder)
    except OSError:
        pass
pathlib.Path("generated").write_text("x")
seen += [name for name in os.environ if name == "SECRET_TOKEN"]
setuptools.setup(seen)
"""


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """The interpreter of this Debian as a tree, with a package that has code for every start."""
    if not LIBRARY.is_dir():
        (pytest.fail if REQUIRED else pytest.skip)("no Python of Debian")
    with tempfile.TemporaryDirectory(prefix="envbuilder-foreign-") as folder:
        tree = Path(folder, "tree")
        for name in ("usr/bin", LIBRARIES, "usr/lib/python3/dist-packages"):
            (tree / name).mkdir(parents=True)
        shutil.copy(PROGRAM, tree / "usr/bin" / PROGRAM.name)
        leave_out = shutil.ignore_patterns("__pycache__", "test", "config-*", "sitecustomize.py", "pydoc_data")
        shutil.copytree(LIBRARY, tree / "usr/lib" / LIBRARY.name, symlinks=True, ignore=leave_out)
        linked = subprocess.run(["ldd", str(PROGRAM)], check=True, capture_output=True, text=True).stdout
        for word in linked.split():
            if word.startswith("/"):
                shutil.copy(word, tree / LIBRARIES / Path(word).name)
        evil = "import sys; sys.stdout.write('code ran')\n"
        (tree / "usr/lib/python3/dist-packages/evil.pth").write_text(evil)
        (tree / "usr/lib" / LIBRARY.name / "sitecustomize.py").write_text(evil)
        for path in tree.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        tree.chmod(0o755)
        yield tree


def _ways() -> list[str]:
    return [f"{name}-{account}" for name in ("runc", "namespaces") for account in ("best", "mapped")]


@pytest.fixture(params=_ways())
def python(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> TargetPython:
    name, _, account = request.param.partition("-")
    found = [way for way in candidates(tmp_path / "work", os.environ["PATH"]) if way.name == name]
    if not found:
        (pytest.fail if REQUIRED else pytest.skip)(f"{name} is not installed")
    way: Sandbox = found[0] if account == "best" else found[-1]
    return TargetPython(root=root, home="usr", series=SERIES, sandbox=lambda: way)


@pytest.fixture
def locked(root: Path, tmp_path: Path) -> TargetPython:
    """The interpreter where the kernel makes no namespaces."""
    way = Landlock(work=tmp_path / "work", refusal=ToolMissing("no namespaces"))
    if trouble := why_not(way):
        (pytest.fail if REQUIRED else pytest.skip)(trouble)
    return TargetPython(root=root, home="usr", series=SERIES, sandbox=lambda: way)


def sdist(folder: Path, setup: str) -> Path:
    path = folder / "toy-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("toy-1.0/setup.py")
        info.size, info.mode = len(setup), 0o600
        archive.addfile(info, io.BytesIO(setup.encode()))
    return path


def tools(folder: Path) -> Path:
    path = folder / "setuptools-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("setuptools.py", SETUPTOOLS)
    return path


def test_code_of_packages_is_not_executed_for_bytecode(python: TargetPython, tmp_path: Path) -> None:
    _require_bytecode(python, tmp_path)


def test_without_namespaces_it_is_not_executed_either(locked: TargetPython, tmp_path: Path) -> None:
    _require_bytecode(locked, tmp_path)


def _require_bytecode(python: TargetPython, tmp_path: Path) -> None:
    entries = [text("opt/a.py", b"x = 1\n"), text("opt/b.txt", b"no source")]
    with bytecode(entries, python, tmp_path) as compiled:
        found = {entry.path: entry.member.read() for entry in compiled}
    tag = f"cpython-{SERIES.replace('.', '')}"
    assert list(found) == [f"opt/__pycache__/a.{tag}.pyc"]


def test_without_namespaces_the_interpreter_reaches_nothing_but_its_tree(
    locked: TargetPython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    (tmp_path / "secret").write_text("secret")
    script = f"""
import os, signal, socket
tries = dict(
    read=lambda: open({str(tmp_path / "secret")!r}), list=lambda: os.listdir({str(tmp_path)!r}),
    write=lambda: open({str(tmp_path / "written")!r}, "w"), temporary=lambda: open("/tmp/written", "w"),
    tree=lambda: open(os.__file__, "a"), network=lambda: socket.socket(), local=lambda: socket.socket(socket.AF_UNIX),
    signal=lambda: os.kill(os.getppid(), 0), session=os.setsid, secret=lambda: os.environ["SECRET_TOKEN"],
    processes=lambda: os.listdir("/proc"), status=lambda: open("/proc/self/status"),
)
for name, act in tries.items():
    try:
        act()
        print(name)
    except (OSError, KeyError):
        pass
print("end")
"""
    answer = tmp_path / "answer"
    with answer.open("wb") as stream:
        locked.run(["-c", script], answer=stream)
    assert answer.read_text() == "end\n"


def test_without_namespaces_no_build_script_runs(locked: TargetPython, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="no namespaces"):
        build_wheel(sdist(tmp_path, "raise SystemExit"), "toy", [tools(tmp_path)], locked, Store(folder=tmp_path / "s"))


_WITHOUT_NAMESPACES = """
import ctypes, os, struct, sys
from pathlib import Path
from envbuilder.oci.runtime.selection import confine
from envbuilder.oci.runtime.seccomp import program
steps = ctypes.create_string_buffer(program(), len(program()))
header = struct.pack("HP", len(steps) // 8, ctypes.addressof(steps))
libc = ctypes.CDLL(None)
zeros = (ctypes.c_ulong(0),) * 3
assert libc.prctl(38, ctypes.c_ulong(1), *zeros) == 0
assert libc.prctl(22, ctypes.c_ulong(2), header, *zeros[:2]) == 0
print(confine(Path(sys.argv[1]), os.environ["PATH"], allow_host=False).name)
"""


def test_landlock_is_taken_where_the_kernel_makes_no_namespaces(locked: TargetPython, tmp_path: Path) -> None:
    """As in an ordinary container, whose filter of system calls refuses namespaces and mounts."""
    command = [sys.executable, "-c", _WITHOUT_NAMESPACES, str(tmp_path / "work")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "landlock\n"


@pytest.mark.parametrize(
    "interpreter", [Path(sys.executable), *interpreters()], ids=lambda path: path.parent.parent.name
)
def test_an_interpreter_that_a_program_starts_is_confined_whatever_its_release(
    interpreter: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    shared = tmp_path / "shared"
    shared.mkdir()
    found = interpreter.resolve()
    script = f"import os; print(os.path.exists({str(tmp_path / 'secret')!r}))"
    with Guard(work=tmp_path / "work").covering(found, shared) as before:
        told = subprocess.run([*before, str(found), "-c", script], check=True, capture_output=True, text=True).stdout
    assert told == "False\n"


def test_an_interpreter_that_a_program_starts_gets_less_than_a_gibibyte(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    found = Path(sys.executable).resolve()
    with Guard(work=tmp_path / "work").covering(found, shared) as before:
        ended = subprocess.run([*before, str(found), "-c", "bytearray(1 << 30)"], check=False, capture_output=True)
    assert b"MemoryError" in ended.stderr


def test_a_base_without_its_interpreter_is_named(tmp_path: Path, python: TargetPython) -> None:
    empty = tmp_path / "empty"
    (empty / "lib64").mkdir(parents=True)
    (empty / "lib64/ld-linux-x86-64.so.2").touch()
    with pytest.raises(ToolFailed, match=f"the base has no interpreter /usr/bin/python{SERIES}") as caught:
        replace(python, root=empty).run(["-c", "pass"])
    assert "--base" in caught.value.hint


def test_a_build_script_sees_nothing_of_this_machine(
    python: TargetPython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    store = Store(folder=tmp_path / "store")
    with socket.create_server(("127.0.0.1", 0)) as server:
        hidden = [str(secret), str(Path.home()), "/run/docker.sock", "/var/run/docker.sock", "/etc/passwd", "/home"]
        setup = SETUP.format(paths=hidden, port=server.getsockname()[1])
        made = build_wheel(sdist(tmp_path, setup), "toy", [tools(tmp_path)], python, store)
    with zipfile.ZipFile(store.path(made)) as wheel:
        assert wheel.read("seen.txt") == b""


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import setuptools; x = bytearray(1 << 30)", "MemoryError"),
        ("import sys; sys.stderr.write('x' * (8 << 20))", "wrote more than 4 MiB"),
        ("import os; os.symlink('/etc/passwd', '/tmp/built.whl'); os._exit(0)", "made no wheel"),
        ("open('/tmp/built.whl', 'w').write('no zip'); import os; os._exit(0)", "wheel is damaged"),
    ],
)
def test_a_build_script_that_takes_too_much_or_gives_no_wheel_is_a_failed_build(
    python: TargetPython, tmp_path: Path, script: str, message: str
) -> None:
    with pytest.raises(BuildFailed, match=message):
        build_wheel(sdist(tmp_path, script), "toy", [tools(tmp_path)], python, Store(folder=tmp_path / "store"))
    assert list((tmp_path / "work").iterdir()) == []


LOADER = "lib64/ld-linux-x86-64.so.2"
BACKEND = """
import os, zipfile
def build_wheel(folder, settings=None, metadata=None):
    seen = [path for path in {paths!r} if os.path.exists(path)]
    seen += [name for name in os.environ if name == "SECRET_TOKEN"]
    with zipfile.ZipFile(os.path.join(folder, "toy-1.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("seen.txt", "\\n".join(seen))
        wheel.writestr("environment.txt", os.environ["PATH"] + " " + os.getcwd())
    return "toy-1.0-py3-none-any.whl"
"""


def test_a_build_backend_in_the_stage_sees_nothing_of_this_machine_and_gives_the_same_bytes_twice(
    python: TargetPython, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    stage = unpack_stage(
        base=[*of_folder(root, epoch=0, as_found=True), link(LOADER, f"/{LIBRARIES}/{Path(LOADER).name}").member],
        venv=venv_entries("usr", SERIES, SERIES),
        environment=[],
        tools=[],
        prefix=Prefix(venv="opt/venv", series=SERIES),
        root=tmp_path / "stage",
        sandbox=python.sandbox,
        variables=(),
    )
    path = tmp_path / "toy-1.0.tar.gz"
    files = {
        "toy-1.0/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'own'\nbackend-path = ['_build']\n",
        "toy-1.0/_build/own.py": BACKEND.format(paths=[str(secret), str(Path.home()), "/run/docker.sock", "/home"]),
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o600
            archive.addfile(info, io.BytesIO(text.encode()))
    made = [build_in_stage(path, path.name, stage, Store(folder=tmp_path / f"store{number}")) for number in (1, 2)]
    assert made[0] == made[1]
    with zipfile.ZipFile(Store(folder=tmp_path / "store1").path(made[0])) as wheel:
        assert wheel.read("seen.txt") == b""
        assert b"/build-stage/tools/bin:/opt/venv/bin:" in wheel.read("environment.txt")
