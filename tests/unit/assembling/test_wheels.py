"""What is made of a wheel is what an installer would leave."""

from __future__ import annotations

import csv
import hashlib
import io
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from envbuilder.assembling.entries import Entry
from envbuilder.assembling.wheel_file import open_wheel
from envbuilder.assembling.wheels import Prefix, installed
from envbuilder.errors import VerificationFailed
from tests.unit.assembling.wheels import DIST_INFO, patched, wheel

PREFIX = Prefix(venv="opt/venv", series="3.8")
DATA = "toy-1.0.data"


def made(path: Path) -> dict[str, Entry]:
    return {entry.path: entry for entry in installed(open_wheel(path, path.name), PREFIX)}


def test_files_lie_in_site_packages_with_their_x(tmp_path: Path) -> None:
    found = made(wheel(tmp_path, {"toy/a.py": b"1", "toy/run": b"2"}, executable=("toy/run",)))
    assert found[f"{PREFIX.site}/toy/a.py"].member.mode == 0o644
    assert found[f"{PREFIX.site}/toy/run"].member.mode == 0o755


def test_an_entry_point_is_a_script_of_the_environment_s_interpreter(tmp_path: Path) -> None:
    points = b"[console_scripts]\ntoy = toy.cli:App.main [extra]\n[gui_scripts]\nToyUI=toy:ui\n"
    found = made(wheel(tmp_path, {f"{DIST_INFO}/entry_points.txt": points}))
    script = found["opt/venv/bin/toy"].member
    assert script.mode == 0o755
    lines = script.read().decode().splitlines()
    assert lines[0] == "#!/opt/venv/bin/python"
    assert "from toy.cli import App" in lines
    assert lines[-1] == "    sys.exit(App.main())"
    assert "opt/venv/bin/ToyUI" in found


def test_the_folders_of_data_go_to_their_places(tmp_path: Path) -> None:
    found = made(
        wheel(
            tmp_path,
            {
                f"{DATA}/purelib/pure.py": b"1",
                f"{DATA}/platlib/plat.py": b"2",
                f"{DATA}/data/share/x.txt": b"3",
                f"{DATA}/headers/x.h": b"4",
                f"{DATA}/scripts/given": b"#!python\nprint()\n",
                f"{DATA}/scripts/shell": b"#!/bin/sh\n",
            },
        )
    )
    assert f"{PREFIX.site}/pure.py" in found
    assert f"{PREFIX.site}/plat.py" in found
    assert "opt/venv/share/x.txt" in found
    assert "opt/venv/include/site/python3.8/toy/x.h" in found
    assert found["opt/venv/bin/given"].member.read() == b"#!/opt/venv/bin/python\nprint()\n"
    assert found["opt/venv/bin/shell"].member.read() == b"#!/bin/sh\n"
    assert found["opt/venv/bin/shell"].member.mode == 0o755


def test_the_record_names_every_file_with_its_digest(tmp_path: Path) -> None:
    points = b"[console_scripts]\ntoy = toy:main\n"
    found = made(
        wheel(tmp_path, {"toy/a.py": b"1", f"{DIST_INFO}/entry_points.txt": points, f"{DATA}/scripts/s": b"#!python\n"})
    )
    rows = list(csv.reader(io.StringIO(found[f"{PREFIX.site}/{DIST_INFO}/RECORD"].member.read().decode())))
    assert rows == sorted(rows)
    named = {row[0] for row in rows}
    assert named == {
        "../../../bin/s", "../../../bin/toy", "toy/a.py",
        *(f"{DIST_INFO}/{name}" for name in
          ("INSTALLER", "METADATA", "RECORD", "REQUESTED", "WHEEL", "entry_points.txt")),
    }  # fmt: skip
    for path, digest, size in rows:
        place = f"opt/venv/{path.removeprefix('../../../')}" if path.startswith("..") else f"{PREFIX.site}/{path}"
        if digest:
            content = found[place].member.read()
            expected = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={expected}", str(len(content)))


def test_bytecode_and_signatures_of_the_wheel_stay_out(tmp_path: Path) -> None:
    found = made(wheel(tmp_path, {"toy/__pycache__/a.cpython-38.pyc": b"1", f"{DIST_INFO}/RECORD.jws": b"2"}))
    assert not [path for path in found if "__pycache__" in path or path.endswith(".jws")]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../evil.py", "holds the path"),
        ("/etc/passwd", "holds the path"),
        ("toy/../../x", "holds the path"),
        ("toy\\x.py", "holds the path"),
        (f"{DATA}/startup/x", "no installer knows"),
    ],
)
def test_a_wheel_that_leads_out_of_its_place_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(VerificationFailed, match=problem):
        made(wheel(tmp_path, {path: b"x"}))


def test_a_script_must_have_a_plain_name_and_a_function(tmp_path: Path) -> None:
    for points in (b"[console_scripts]\n../x = toy:main\n", b"[console_scripts]\nx = toy main()\n", b"no section\n"):
        with pytest.raises(VerificationFailed, match="cannot be installed"):
            made(wheel(tmp_path, {f"{DIST_INFO}/entry_points.txt": points}))


def test_what_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.0-py3-none-any.whl"
    path.write_bytes(b"not a zip")
    with pytest.raises(VerificationFailed, match="cannot be read"):
        open_wheel(path, path.name)
    with pytest.raises(VerificationFailed, match=r"0 folders \*\.dist-info"):
        made(wheel(tmp_path, {}, dist_info="toy"))


def test_an_unusual_packing_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"toy/a.py": b"x" * 99})
    patched(path, 8, b"\x01\x00")
    with pytest.raises(VerificationFailed, match="encrypted"):
        open_wheel(path, path.name)
    path = wheel(tmp_path, {"toy/a.py": b"x" * 99})
    patched(path, 10, b"\x0c\x00")
    with pytest.raises(VerificationFailed, match="method 12"):
        open_wheel(path, path.name)
