"""The interpreter lies at one place, whoever packed it; the environment and the account are ours."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.interpreter import account_entries, archive_entries, venv_entries
from envbuilder.lock.container_settings import DEFAULT_USER, User
from envbuilder.oci.tar.members import EPOCH, Kind


def archive(folder: Path, *infos: tuple[tarfile.TarInfo, bytes]) -> Path:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for info, content in infos:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    path = folder / "cpython.tar.gz"
    path.write_bytes(gzip.compress(stream.getvalue()))
    return path


def info(name: str, mode: int = 0o640, **fields: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.mode, made.uid, made.gid, made.mtime = mode, 501, 20, 99
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def by_path(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries}


def test_an_archive_lies_below_opt_python_without_its_packer(tmp_path: Path) -> None:
    path = archive(
        tmp_path,
        (info("python", 0o700, type=tarfile.DIRTYPE), b""),
        (info("python/bin", 0o700, type=tarfile.DIRTYPE), b""),
        (info("python/bin/python3.8", 0o750), b"program"),
        (info("python/bin/same", type=tarfile.LNKTYPE, linkname="python/bin/python3.8"), b""),
        (info("python/bin/python3", type=tarfile.SYMTYPE, linkname="python3.8"), b""),
        (info("python/lib/os.txt"), b"text"),
        (info("pythonic/other"), b"elsewhere"),
        (info("README"), b"elsewhere"),
    )
    found = by_path(list(archive_entries(path, tmp_path)))
    assert found.keys() == {
        "opt/python/bin", "opt/python/bin/python3.8", "opt/python/bin/same", "opt/python/bin/python3",
        "opt/python/lib/os.txt",
    }  # fmt: skip
    members = {path.rpartition("/")[2]: entry.member for path, entry in found.items()}
    assert {(member.uid, member.gid, member.mtime) for member in members.values()} == {(0, 0, EPOCH)}
    assert {name: members[name].mode for name in ("bin", "python3.8", "os.txt")} == {
        "bin": 0o755, "python3.8": 0o755, "os.txt": 0o644,
    }  # fmt: skip
    assert members["python3.8"].read() == b"program"
    assert members["same"].identity == members["python3.8"].identity != ""
    assert (members["python3"].kind, members["python3"].target) == (Kind.SYMLINK, "python3.8")


@pytest.mark.parametrize("cut", [10, 200])
def test_a_damaged_archive_is_refused_by_name(tmp_path: Path, cut: int) -> None:
    path = archive(tmp_path, (info("python/x"), bytes((number * 7919) % 251 for number in range(5000))))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(VerificationFailed, match=r"cpython\.tar\.gz cannot be unpacked") as caught:
        list(archive_entries(path, tmp_path))
    assert "python pack" in caught.value.hint


@pytest.mark.parametrize("name", ["python/../../evil", "python/lib/../../../evil", "/python/evil", "python/a\0b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path, (info("python/ok"), b""), (info("x", pax_headers={"path": name}), b"evil"))
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        list(archive_entries(path, tmp_path))


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"no tar" * 200, mtime=0)])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        list(archive_entries(path, tmp_path))


@pytest.mark.parametrize("home", ["opt/python", "usr"])
def test_an_environment_points_to_its_interpreter(home: str) -> None:
    found = by_path(list(venv_entries(home, "3.8", "3.8.18")))
    assert found["opt/venv/bin/python"].member.target == f"/{home}/bin/python3.8"
    assert found["opt/venv/bin/python3"].member.target == "python"
    settings = found["opt/venv/pyvenv.cfg"].member.read().decode().splitlines()
    assert settings[0] == f"home = /{home}/bin"
    assert "version_info = 3.8.18" in settings
    assert found["opt/venv/lib/python3.8/site-packages"].member.kind is Kind.FOLDER


def test_an_account_comes_after_those_of_the_base() -> None:
    user = User(name="team", uid=1234, gid=1235)
    found = by_path(list(account_entries(user, b"root:x:0:0::/root:/bin/sh\n", b"root:x:0:\n")))
    assert found["etc/passwd"].member.read() == (b"root:x:0:0::/root:/bin/sh\nteam:x:1234:1235::/home/team:/bin/bash\n")
    assert found["etc/group"].member.read() == b"root:x:0:\nteam:x:1235:\n"
    for path in ("home/team", "workspace"):
        assert (found[path].member.uid, found[path].member.gid) == (1234, 1235)


def test_a_base_without_accounts_gets_one() -> None:
    found = by_path(list(account_entries(DEFAULT_USER, b"", b"")))
    assert found["etc/passwd"].member.read() == b"app:x:1000:1000::/home/app:/bin/bash\n"
