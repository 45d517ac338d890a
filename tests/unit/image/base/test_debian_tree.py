"""What is run, what is kept, and what is said when it fails, with a stand-in for mmdebstrap that writes a real tar."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind, BaseSystem, Publication, PublicationState
from envbuilder.core.errors import (
    DiskFull,
    EnvbuilderError,
    SourceUnreachable,
    ToolFailed,
    ToolMissing,
    VerificationFailed,
)
from envbuilder.core.versions import Release
from envbuilder.image.base import dpkg
from envbuilder.image.base.cleaning import cleaned
from envbuilder.image.base.failures import without_credentials
from envbuilder.image.base.mmdebstrap import BootstrapArchive, bootstrap
from envbuilder.image.base.programs import Host, LineListener, Ran, ignore_line, run_program
from envbuilder.image.base.trees import DebianTree
from envbuilder.oci.tar.members import Kind, Member, file_of, of_tar

EPOCH = 1_700_000_000
MIRROR = "http://ann:s3cret@mirror.invalid/debian"
STATUS = """\
Package: python3
Status: install ok installed
Version: 3.11.2-1+b1
Description: interactive high-level object-oriented language
 Version: not this

Package: libc6
Status: install ok installed
Version: 2.36-9+deb12u10

Package: gone
Status: deinstall ok config-files
Version: 1
"""
SYSTEM = BaseSystem(
    id="debian-bookworm",
    kind=BaseKind.DEBIAN,
    image="",
    digest="",
    suite="bookworm",
    components=("main", "non-free"),
    packages=("libgomp1", "python3"),
    glibc=Release("2.36"),
    glibcxx=Release("3.4.30"),
    python=Release("3.11"),
    python_package="",
    cuda=None,
    cudnn=None,
    publication=Publication(state=PublicationState.PUBLISHED, date=date(2026, 1, 1), note="", sources=()),
    sources=(),
)


@dataclass
class Mmdebstrap:
    """Writes a small tree like mmdebstrap's, with everything in it that must not stay."""

    host: str = "host-one"
    status: int = 0
    log: tuple[str, ...] = ("I: running apt-get update...", f"Get:1 {MIRROR} bookworm InRelease")
    dpkg_status: str = STATUS
    codename: str = "bookworm"
    calls: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)

    def __call__(
        self, command: Sequence[str], *, environ: Mapping[str, str], folder: Path, on_line: LineListener = ignore_line
    ) -> Ran:
        assert folder.is_dir()
        self.calls.append((list(command), dict(environ)))
        if command[1] == "--version":
            return Ran(status=0, stdout="mmdebstrap 1.3.5\n", tail=())
        for line in self.log:
            on_line(line)
        if not self.status:
            self._write(Path(command[command.index("--") + 2]))
        return Ran(status=self.status, stdout="", tail=self.log)

    def _write(self, out: Path) -> None:
        files = {
            "./etc/hostname": self.host,
            "./etc/resolv.conf": "nameserver 192.0.2.1",
            "./etc/apt/sources.list": f"deb {MIRROR} bookworm main",
            "./etc/machine-id": "uninitialized",
            "./usr/lib/os-release": f"NAME=Debian\nVERSION_CODENAME={self.codename}\n",
            "./var/log/dpkg.log": self.host,
            "./var/lib/dpkg/status": self.dpkg_status,
            "./var/lib/dpkg/status-old": self.host,
            "./var/cache/ldconfig/aux-cache": self.host,
        }
        with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as archive:
            for name, text in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(text), EPOCH + len(self.host)
                archive.addfile(info, BytesIO(text.encode()))


def make(
    work: Path,
    mmdebstrap: Mmdebstrap,
    lines: list[str] | None = None,
    *,
    archive: BootstrapArchive = BootstrapArchive(mirror=MIRROR),  # noqa: B008  it is frozen
) -> DebianTree:
    environ = {"PATH": "/bin", "http_proxy": "http://proxy.invalid", "TZ": "Asia/Tokyo", "PERL5LIB": "/nowhere"}
    listener = ignore_line if lines is None else lines.append
    host = Host(environ=environ, run=mmdebstrap, as_root=True, listener=listener)
    return bootstrap(SYSTEM, archive, epoch=EPOCH, work=work, host=host)


def test_two_hosts_make_the_same_tree(tmp_path: Path) -> None:
    trees = []
    for name in ("host-one", "another-host"):
        (tmp_path / name).mkdir()
        trees.append(make(tmp_path / name, Mmdebstrap(host=name)))
    assert trees[0].digest == trees[1].digest
    assert [path.name for path in (tmp_path / "host-one").iterdir()] == ["debian-bookworm.tar"]
    data = trees[0].path.read_bytes()
    assert b"mirror.invalid" not in data
    assert b"192.0.2.1" not in data
    assert {member.path: member.size for member in of_tar(trees[0].path)} == {
        "etc/machine-id": 0,
        "usr/lib/os-release": len("NAME=Debian\nVERSION_CODENAME=bookworm\n"),
        "var/lib/dpkg/status": len(STATUS),
    }


def test_the_tree_says_what_is_inside(tmp_path: Path) -> None:
    tree = make(tmp_path, Mmdebstrap())
    assert [(pin.name, pin.version) for pin in tree.packages] == [
        ("libc6", "2.36-9+deb12u10"),
        ("python3", "3.11.2-1+b1"),
    ]
    assert (str(tree.python), str(tree.glibc), tree.mmdebstrap) == ("3.11.2", "2.36", "1.3.5")
    assert tree.size == tree.path.stat().st_size


def test_a_tree_without_python_is_fine_and_one_without_libc_is_not(tmp_path: Path) -> None:
    only_libc = STATUS.partition("\n\n")[2]
    assert make(tmp_path, Mmdebstrap(dpkg_status=only_libc)).python is None
    with pytest.raises(ToolFailed, match="without a C library"):
        make(tmp_path, Mmdebstrap(dpkg_status=""))


def test_the_environment_is_fixed_but_for_paths_and_proxies(tmp_path: Path) -> None:
    mmdebstrap = Mmdebstrap()
    make(tmp_path, mmdebstrap)
    _, environ = mmdebstrap.calls[-1]
    assert environ == {
        "PATH": "/bin",
        "http_proxy": "http://proxy.invalid",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(EPOCH),
        "PYTHONHASHSEED": "0",
    }


def test_an_empty_mirror_leaves_the_choice_to_mmdebstrap(tmp_path: Path) -> None:
    mmdebstrap = Mmdebstrap()
    make(tmp_path, mmdebstrap, archive=BootstrapArchive())
    command, _ = mmdebstrap.calls[-1]
    assert command[-2:-1] == ["bookworm"]
    assert "--components=main,non-free" in command
    assert "--include=libgomp1,python3" in command
    make(tmp_path, mmdebstrap)
    assert mmdebstrap.calls[-1][0][-1] == MIRROR


def test_time_counts_unless_the_user_says_otherwise_and_keys_are_passed_on(tmp_path: Path) -> None:
    mmdebstrap = Mmdebstrap()
    make(tmp_path, mmdebstrap)
    assert not [option for option in mmdebstrap.calls[-1][0] if option.startswith(("--keyring", "--aptopt"))]
    make(tmp_path, mmdebstrap, archive=BootstrapArchive(keyring="/keys.gpg", allow_expired=True))
    command = mmdebstrap.calls[-1][0]
    assert "--keyring=/keys.gpg" in command
    assert '--aptopt=Acquire::Check-Valid-Until "false"' in command


def test_a_tree_of_another_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match="answers with bullseye where bookworm was asked for"):
        make(tmp_path, Mmdebstrap(codename="bullseye"))
    assert list(tmp_path.iterdir()) == []


def test_progress_shows_no_credentials(tmp_path: Path) -> None:
    lines: list[str] = []
    make(tmp_path, Mmdebstrap(), lines)
    assert lines == ["I: running apt-get update...", "Get:1 http://***@mirror.invalid/debian bookworm InRelease"]


def test_credentials_with_a_slash_or_an_at_sign_go_too() -> None:
    mirror = "https://ann:p/a@ss@mirror.invalid/debian"
    assert without_credentials(f"E: {mirror}/x failed", mirror) == "E: https://***@mirror.invalid/debian/x failed"


def test_a_missing_mmdebstrap_says_what_to_install(tmp_path: Path) -> None:
    host = Host(environ={"PATH": str(tmp_path)}, run=run_program)
    with pytest.raises(ToolMissing) as caught:
        bootstrap(SYSTEM, BootstrapArchive(), epoch=EPOCH, work=tmp_path, host=host)
    assert caught.value.hint == "apt-get install mmdebstrap"


@pytest.mark.parametrize(
    ("line", "error", "hint"),
    [
        (
            "E: The repository 'X bookworm Release' does not have a Release file.",
            SourceUnreachable,
            "matrices/bases.yaml",
        ),
        ("E: Failed to fetch X  404  Not Found [IP: 192.0.2.1 80]", SourceUnreachable, "matrices/bases.yaml"),
        ("W: Could not resolve 'mirror.invalid'", SourceUnreachable, "sources.debian_mirror"),
        (
            "W: Could not connect to localhost:9 (127.0.0.1). - connect (111: Connection refused)",
            SourceUnreachable,
            "proxy",
        ),
        ("E: Unable to locate package nosuch", SourceUnreachable, "packages and components"),
        ("E: The following signatures couldn't be verified: NO_PUBKEY 0E98", ToolFailed, "debian-archive-keyring"),
        ("W: GPG error: The following signatures were invalid: BADSIG 0E98", VerificationFailed, "another mirror"),
        ("E: Release file for X is expired (invalid since 2d 3h).", VerificationFailed, "--debian-allow-expired"),
        ("E: Release file for X is not valid yet (invalid for another 3h).", VerificationFailed, "check the clock"),
        ("E: newuidmap 123 failed", ToolFailed, "/etc/subuid"),
        ("dpkg: error: write failed: No space left on device", DiskFull, "free about"),
        ("E: something new", ToolFailed, "end of its log"),
    ],
)
def test_each_kind_of_failure_says_what_to_do(
    tmp_path: Path, line: str, error: type[EnvbuilderError], hint: str
) -> None:
    with pytest.raises(error) as caught:
        make(tmp_path, Mmdebstrap(status=25, log=(f"Err:1 {MIRROR}", line)))
    assert hint in caught.value.hint
    assert line in caught.value.message
    assert "s3cret" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_cleaning_keeps_folders_and_what_only_looks_alike() -> None:
    kept = ("var/log/apt", "var/cache/apt/archives/partial", "tmp")
    folders = [Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=EPOCH + 1) for path in (*kept, "dev", "dev/pts")]
    files = [
        file_of(path, b"x", mtime=5) for path in ("etc/hostname.d", "etc/passwd", "etc/passwd-", "usr/etc/hostname")
    ]
    left = cleaned([*folders, *files], epoch=EPOCH)
    assert [member.path for member in left] == [*kept, "dev", "etc/hostname.d", "etc/passwd", "usr/etc/hostname"]
    assert {member.mtime for member in left} == {EPOCH, 5}


def test_programs_of_a_tree_by_mmdebstrap_have_no_rights_of_another_account() -> None:
    [su, wall, mail] = cleaned(
        [
            file_of("usr/bin/su", b"x", mtime=1, mode=0o4755),
            file_of("usr/bin/wall", b"x", mtime=1, mode=0o2755),
            Member(path="var/mail", kind=Kind.FOLDER, mode=0o2775, mtime=1),
        ],
        epoch=EPOCH,
    )
    assert (su.mode, wall.mode, mail.mode) == (0o755, 0o755, 0o2775)


def test_versions_with_an_epoch_are_read() -> None:
    packages = dpkg.installed("Package: python3\nStatus: install ok installed\nVersion: 1:3.9.2-3\n")
    assert str(dpkg.upstream(packages, "python3")) == "3.9.2"
    assert dpkg.upstream(packages, "libc6") is None
