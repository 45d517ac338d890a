"""Libraries come out of a vendor archive as they are, by the path that the lock names, or the archive is refused."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat, ArchivePin
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.vendor.extraction import extract
from envbuilder.image.vendor.records import TakenFile
from envbuilder.oci.store import Store
from tests.fakes.run_files import EULA, run_file
from tests.fakes.vendor_archives import LIBRARIES, LIBRARY, TREE, archive_of, pin_of, sha256
from tests.unit.core.archives.hostile import END, header
from tests.unit.image.base.deb.debs import Content, tar_of

EVERY_FORMAT = pytest.mark.parametrize("kind", ArchiveFormat)
TAR = ArchiveFormat.TAR_GZIP


def taken(folder: Path, content: bytes, pin: ArchivePin, told: list[str] | None = None) -> dict[str, TakenFile]:
    """What comes out of an archive, into a store in the folder."""
    file = folder / "archive"
    file.write_bytes(content)
    return extract(pin, file, Store(folder=folder / "store"), (told if told is not None else []).append)


def out_of(folder: Path, tree: Mapping[str, Content], **libraries: str) -> dict[str, TakenFile]:
    content = archive_of(TAR, tree)
    return taken(folder, content, pin_of(content, TAR, libraries=libraries or LIBRARIES, eula=""))


@EVERY_FORMAT
def test_libraries_and_the_license_come_out_of_each_format_unmodified(tmp_path: Path, kind: ArchiveFormat) -> None:
    content = archive_of(kind)
    found = taken(tmp_path, content, pin_of(content, kind))

    store = Store(folder=tmp_path / "store")
    assert {path: store.read(each.digest) for path, each in found.items()} == {
        "lib64/libx.so.9.0": LIBRARY,
        "lib64/liby.so.9.0.1": LIBRARY[::-1],
        "doc/EULA.txt": EULA,
    }
    assert [each.size for each in found.values()] == [len(LIBRARY), len(LIBRARY), len(EULA)]


def test_nothing_else_is_written(tmp_path: Path) -> None:
    out_of(tmp_path, TREE, **{"libx.so.9.0": "lib64/libx.so.9.0"})
    assert [digest for digest, _, _ in Store(folder=tmp_path / "store").entries()] == [f"sha256:{sha256(LIBRARY)}"]


def test_the_room_on_disk_is_stated_before_anything_is_written(tmp_path: Path) -> None:
    content, told = archive_of(TAR), list[str]()
    taken(tmp_path, content, pin_of(content, TAR, eula=""), told)
    assert told == ["taking 2 libraries out of cuda-9.0.176-runfile: 12.7 KiB on disk beside it"]


def test_the_file_behind_links_is_recorded(tmp_path: Path) -> None:
    found = out_of(tmp_path, TREE, **{"libx.so.9.0": "lib64/libx.so"})
    assert found["lib64/libx.so"].file == "lib64/libx.so.9.0.176"


def test_links_to_directories_are_followed(tmp_path: Path) -> None:
    tree: dict[str, Content] = {
        "lib64": "targets/x/lib",
        "targets/x/lib/l.so": "../../real/l.so",
        "targets/real": "./here",
        "targets/here/l.so": b"x",
    }
    assert out_of(tmp_path, tree, **{"l.so": "lib64/l.so"})["lib64/l.so"].file == "targets/here/l.so"


def test_hard_links_are_followed(tmp_path: Path) -> None:
    tree: dict[str, Content] = {"a/l.so.1": b"x", "b/l.so": "=a/l.so.1", "c/l.so": "=b/l.so"}
    assert out_of(tmp_path, tree, **{"l.so": "c/l.so"})["c/l.so"].file == "a/l.so.1"


def test_of_two_members_with_one_path_the_later_counts(tmp_path: Path) -> None:
    first, second = (tar_of({"l.so": content}) for content in (b"old", b"newer"))
    content = gzip.compress(first[: first.index(b"old") + 512] + second)
    found = taken(tmp_path, content, pin_of(content, TAR, libraries={"l.so": "l.so"}, eula=""))
    assert found["l.so"].digest == f"sha256:{sha256(b'newer')}"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("/etc/passwd", "leads outside"),
        ("../../etc/passwd", "leads outside"),
        ("libx.so", "in a circle"),
        ("gone.so", "does not contain"),
        ("../doc", "does not contain"),
    ],
)
def test_a_link_that_does_not_lead_to_a_file_is_refused(tmp_path: Path, target: str, problem: str) -> None:
    with pytest.raises(VerificationFailed, match=problem) as raised:
        out_of(tmp_path, {"lib64/libx.so": target, "doc/EULA.txt": EULA}, **{"libx.so": "lib64/libx.so"})
    assert "never updated automatically" in raised.value.hint


def test_links_that_nobody_follows_may_lead_anywhere(tmp_path: Path) -> None:
    assert out_of(tmp_path, {**TREE, "bin/nsight": "/opt/nsight"})


@pytest.mark.parametrize("flag", [b"3", b"4", b"6"])
def test_a_device_or_a_pipe_in_place_of_a_library_is_refused(tmp_path: Path, flag: bytes) -> None:
    content = gzip.compress(header(b"lib64/libx.so.9.0", flag=flag) + END)
    with pytest.raises(VerificationFailed, match="does not contain"):
        taken(tmp_path, content, pin_of(content, TAR, libraries={"libx.so.9.0": "lib64/libx.so.9.0"}, eula=""))


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../x", b"lib64/../../x"])
@pytest.mark.parametrize("wrap", [gzip.compress, run_file])
def test_an_archive_with_a_member_outside_is_refused(tmp_path: Path, name: bytes, wrap: type[bytes]) -> None:
    content = wrap(header(name) + tar_of(TREE))
    kind = ArchiveFormat.MAKESELF if wrap is run_file else TAR
    with pytest.raises(VerificationFailed, match="leads outside"):
        taken(tmp_path, content, pin_of(content, kind))
    assert not list(Store(folder=tmp_path / "store").entries())


def test_a_missing_library_is_named_with_the_places_that_have_its_name(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match=r"does not contain lib/libx.so.9.0, but lib64/libx.so.9.0"):
        out_of(tmp_path, TREE, **{"libx.so.9.0": "lib/libx.so.9.0"})


def test_a_missing_inner_run_file_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    content = run_file(tar_of({"run_files": None, "run_files/other.run": run_file(tar_of(TREE))}))
    with pytest.raises(VerificationFailed, match=r"its run files are: run_files/other\.run"):
        taken(tmp_path, content, pin_of(content, ArchiveFormat.MAKESELF_NESTED))


def test_the_license_is_found_by_its_name_if_it_moved(tmp_path: Path) -> None:
    content = archive_of(TAR)
    assert taken(tmp_path, content, pin_of(content, TAR, eula="EULA.txt"))["EULA.txt"].file == "doc/EULA.txt"


def test_an_archive_without_its_license_is_refused(tmp_path: Path) -> None:
    content = archive_of(TAR)
    with pytest.raises(VerificationFailed, match="does not contain LICENSE"):
        taken(tmp_path, content, pin_of(content, TAR, eula="LICENSE"))


def test_a_library_with_another_sha256_than_the_lock_is_refused(tmp_path: Path) -> None:
    content = archive_of(TAR)
    with pytest.raises(VerificationFailed, match=r"libx\.so\.9\.0 in cuda-9") as raised:
        taken(tmp_path, content, pin_of(content, TAR, hashes={"libx.so.9.0": "0" * 64}))
    assert "never updated automatically" in raised.value.hint


def test_an_inner_run_file_that_was_altered_is_refused(tmp_path: Path) -> None:
    kind = ArchiveFormat.MAKESELF_NESTED
    inner = run_file(tar_of(TREE)).replace(b"library", b"LIBRARY", 1)
    content = run_file(tar_of({pin_of(b"", kind).inner: inner}))
    with pytest.raises(VerificationFailed, match="its header states"):
        taken(tmp_path, content, pin_of(content, kind))


@EVERY_FORMAT
def test_an_altered_archive_is_refused(tmp_path: Path, kind: ArchiveFormat) -> None:
    content = archive_of(kind, {"libx.so.9.0": hashlib.shake_128(b"x").digest(20_000)})
    altered = bytearray(content)
    altered[len(content) // 2] ^= 0xFF
    with pytest.raises(VerificationFailed):
        taken(tmp_path, bytes(altered), pin_of(content, kind, libraries={"libx.so.9.0": "libx.so.9.0"}, eula=""))
