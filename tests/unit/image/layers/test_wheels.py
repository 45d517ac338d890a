"""What is made of a wheel is what an installer would leave."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
import zlib
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.compression import Digesting, SplicingSink
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.inflate import Inflater
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix, installed
from tests.unit.core.archives.hostile import ZipPart, deflated, zipped
from tests.unit.image.layers.wheels import DIST_INFO, patched, wheel

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
        ("../evil.py", "leads outside"),
        ("/etc/passwd", "leads outside"),
        ("toy/../../x", "leads outside"),
        ("toy\\x.py", "has a backslash"),
        ("toy/./x", "holds the path"),
        (f"{DATA}/startup/x", "the unknown scheme"),
    ],
)
def test_a_wheel_that_leads_out_of_its_place_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(VerificationFailed, match=problem):
        made(wheel(tmp_path, {path: b"x"}))


def test_a_script_must_have_a_plain_name_and_a_function(tmp_path: Path) -> None:
    for points in (
        b"[console_scripts]\n../x = toy:main\n",
        b"[console_scripts]\nx\0y = toy:main\n",
        b"[console_scripts]\nx = toy main()\n",
        b"no section\n",
    ):
        with pytest.raises(VerificationFailed, match="cannot be installed"):
            made(wheel(tmp_path, {f"{DIST_INFO}/entry_points.txt": points}))


def test_what_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.0-py3-none-any.whl"
    path.write_bytes(b"not a zip")
    with pytest.raises(VerificationFailed, match="cannot be read"):
        open_wheel(path, path.name)
    with pytest.raises(VerificationFailed, match=r"0 directories \*\.dist-info"):
        made(wheel(tmp_path, {}, dist_info="toy"))


def test_a_stored_member_is_compared_with_its_checksum(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"toy/a.bin": b"right" * 30_000}, method=zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"right", b"wrong", 1))
    entry = made(path)[f"{PREFIX.site}/toy/a.bin"]
    with pytest.raises(VerificationFailed, match="a member does not match the central directory of the archive"):
        entry.member.read()
    sink = SplicingSink(lambda _data: None, Digesting())
    with pytest.raises(VerificationFailed, match="a member does not match"):
        sink.write([entry], lambda _entry: None)


def test_a_stored_member_that_claims_more_than_it_has_is_refused(tmp_path: Path) -> None:
    """To read it would go on for ever at the end of the file."""
    path = tmp_path / "toy-1.0-py3-none-any.whl"
    path.write_bytes(zipped([ZipPart(name=b"toy/a.bin", data=b"0123456789", size=1 << 20, packed=1 << 20)]))
    with pytest.raises(VerificationFailed, match="overlaps with what follows it"):
        open_wheel(path, path.name)


def test_a_member_that_unpacks_to_more_than_it_claims_is_stopped_there(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.0-py3-none-any.whl"
    path.write_bytes(zipped([ZipPart(name=b"toy/a.bin", data=deflated(bytes(64 << 20)), size=10, method=8)]))
    content = open_wheel(path, path.name).contents["toy/a.bin"]
    assert content.spliced
    stream = path.read_bytes()[content.spliced.offset :][: content.spliced.size]
    pieces = Inflater(content.spliced, content.size).unpack(stream)
    with pytest.raises(VerificationFailed, match="it has more than 10 bytes"):
        next(pieces)


def test_bytes_behind_the_end_of_a_stream_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.0-py3-none-any.whl"
    data = deflated(b"x" * 999) + b"hidden"
    path.write_bytes(zipped([ZipPart(name=b"toy/a", data=data, size=999, crc=zlib.crc32(b"x" * 999), method=8)]))
    with pytest.raises(VerificationFailed, match="does not match the central directory"):
        open_wheel(path, path.name).contents["toy/a"].read()


def test_a_text_that_nobody_could_read_is_not_read(tmp_path: Path) -> None:
    points = b"[console_scripts]\n" + b"".join(b"a%d = toy:main\n" % number for number in range(70_000))
    with pytest.raises(VerificationFailed, match="no more than 1048576 are read"):
        made(wheel(tmp_path, {f"{DIST_INFO}/entry_points.txt": points}))


def test_an_unusual_packing_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"toy/a.py": b"x" * 99})
    patched(path, 8, b"\x01\x00")
    with pytest.raises(VerificationFailed, match="encrypted"):
        open_wheel(path, path.name)
    path = wheel(tmp_path, {"toy/a.py": b"x" * 99})
    patched(path, 10, b"\x0c\x00")
    with pytest.raises(VerificationFailed, match="method 12"):
        open_wheel(path, path.name)
