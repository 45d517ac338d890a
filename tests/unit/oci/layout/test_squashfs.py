"""Squashfs files, made by a program that takes the place of mksquashfs."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.core.errors import DiskFull, ToolFailed, ToolMissing, UsageError
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.enroot import start_files
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.runtime.unconfined import Unconfined
from envbuilder.oci.store import Store
from tests.fakes.scripts import python_script
from tests.unit.oci.layout.images import file, image

Here = Callable[[], Unconfined]
CONFIG = {
    "Env": ["PATH=/bin", "WORD=two words"],
    "Entrypoint": ["/bin/run it"],
    "Cmd": ["-v"],
    "WorkingDir": "/work dir",
    "Volumes": {"/data": {}},
}


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    """The program of a test needs the interpreter of the tests, which no sandbox has."""
    work = tmp_path_factory.mktemp("work")
    return lambda: Unconfined(work=work)


@pytest.fixture
def made(store: Store) -> AssembledImage:
    return image(store, [file("etc/rc", b"older"), file("big", b"x" * 3_000_000)], config=CONFIG)


def program(folder: Path, text: str) -> str:
    """A mksquashfs that is this script; gives the search path."""
    path = folder / "bin" / "mksquashfs"
    path.parent.mkdir()
    path.write_text(python_script(f"import shutil, sys\n{text}\n"))
    path.chmod(0o755)
    return str(path.parent)


KEEPS = "shutil.copyfileobj(sys.stdin.buffer, open(sys.argv[2], 'wb'))"


def test_the_flat_tar_goes_in_with_what_starts_it(
    made: AssembledImage, store: Store, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "x.sqsh"
    write_squashfs(made, store, out, epoch=77, search_path=program(tmp_path, KEEPS), sandbox=here)
    with tarfile.open(out) as tar:
        held = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        text = {name: stream.read().decode() for name, stream in held.items() if stream and name != "big"}
    assert text["etc/envbuilder-image"] == f"{made.manifest.descriptor.digest}\n"
    assert text["etc/environment"].startswith("PATH=/bin\nWORD=two words\n")
    assert {".singularity.d/runscript", "ch/environment"} < set(text)
    assert text["etc/fstab"] == "${ENROOT_ROOTFS}/data /data none x-create=dir,bind,rw,nosuid,nodev\n"
    assert text["etc/rc"] != "older"


def test_the_times_and_the_compression_are_given(
    made: AssembledImage, store: Store, here: Here, tmp_path: Path
) -> None:
    keeps_command = f"{KEEPS}; open(sys.argv[2], 'w').write(' '.join(sys.argv[3:]))"
    out = tmp_path / "x.sqsh"
    write_squashfs(made, store, out, epoch=77, search_path=program(tmp_path, keeps_command), sandbox=here)
    said = out.read_text()
    for wanted in ("-tar", "-noappend", "-no-xattrs", "-all-time 77", "-mkfs-time 77", "-comp zstd"):
        assert wanted in said


def test_no_program_is_said_with_what_to_install(
    made: AssembledImage, store: Store, here: Here, tmp_path: Path
) -> None:
    with pytest.raises(ToolMissing) as caught:
        write_squashfs(made, store, tmp_path / "x.sqsh", epoch=0, search_path=str(tmp_path), sandbox=here)
    assert "squashfs-tools" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("sys.stderr.write('no such option'); sys.exit(1)", ToolFailed, "no such option"),
        ("open(sys.argv[2], 'w').close(); sys.exit('Write failed because No space left on device')", DiskFull, "room"),
        ("sys.stdin.buffer.read(); sys.exit(3)", ToolFailed, "status 3"),
    ],
)
def test_a_program_that_fails_leaves_nothing(
    text: str, error: type[Exception], message: str, made: AssembledImage, store: Store, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "x.sqsh"
    out.parent.mkdir()
    out.write_text("older")
    with pytest.raises(error, match=message):
        write_squashfs(made, store, out, epoch=0, search_path=program(tmp_path, text), sandbox=here)
    assert [path.read_text() for path in out.parent.iterdir()] == ["older"]


def run_script(config: dict[str, object], store: Store, tmp_path: Path, *arguments: str) -> str:
    script = next(one for one in start_files(image(store, config=config), epoch=0) if one.path == "etc/rc")
    path = tmp_path / "rc"
    path.write_bytes(script.read())
    done = subprocess.run(["/bin/sh", str(path), *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def test_the_script_starts_entry_point_and_command(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "work dir"
    config: dict[str, object] = {"WorkingDir": str(folder), "Entrypoint": ["/bin/echo", "two  words"], "Cmd": ["$x"]}
    assert run_script(config, store, tmp_path) == "two  words $x\n"
    assert run_script(config, store, tmp_path, "given") == "two  words given\n"
    assert run_script({"Cmd": ["pwd"], "WorkingDir": str(folder)}, store, tmp_path) == f"{folder}\n"


def test_a_variable_with_a_line_end_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="several lines"):
        start_files(image(store, config={"Env": ["A=1\n2"]}), epoch=0)
