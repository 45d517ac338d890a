"""An archive is fetched and opened once; libraries that are known by their hash need not come from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.vendor.placement import library_links
from envbuilder.oci.store import Store
from tests.fakes.run_files import EULA
from tests.fakes.vendor_archives import LIBRARY, Shelf, archive_of, pin_of, sha256

KIND = ArchiveFormat.MAKESELF_NESTED
CONTENT = archive_of(KIND)
PIN = pin_of(CONTENT, KIND)
HASHES = {"libx.so.9.0": sha256(LIBRARY), "liby.so.9.0": sha256(LIBRARY[::-1])}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(store=Store(folder=tmp_path / "store"), archives={PIN.id: CONTENT})


def test_the_files_of_an_archive_have_their_places_in_the_image(shelf: Shelf) -> None:
    found = shelf.libraries().libraries(PIN)
    assert {path: shelf.store.read(each.digest) for path, each in found.items()} == {
        "usr/lib/x86_64-linux-gnu/libx.so.9.0": LIBRARY,
        "usr/lib/x86_64-linux-gnu/liby.so.9.0.1": LIBRARY[::-1],
        "usr/share/doc/envbuilder/cuda-9.0.176-runfile/EULA.txt": EULA,
    }
    assert library_links(PIN) == (("usr/lib/x86_64-linux-gnu/liby.so.9.0", "liby.so.9.0.1"),)


def test_an_archive_is_opened_once(shelf: Shelf) -> None:
    first = shelf.libraries().libraries(PIN)
    shelf.store.remove(f"sha256:{PIN.sha256}")
    assert shelf.libraries().missing([PIN]) == ()
    assert shelf.libraries().libraries(PIN) == first
    assert shelf.fetched == [PIN.id]


def test_an_archive_is_missing_until_it_or_its_libraries_are_there(shelf: Shelf) -> None:
    assert shelf.libraries().missing([PIN]) == (PIN,)
    shelf.store.put(CONTENT)
    assert shelf.libraries().missing([PIN]) == ()


def test_a_library_that_was_removed_is_taken_out_again(shelf: Shelf) -> None:
    shelf.libraries().libraries(PIN)
    shelf.store.remove(f"sha256:{sha256(LIBRARY)}")
    assert len(shelf.libraries().libraries(PIN)) == 3


def test_further_libraries_of_an_archive_are_recorded_beside_the_first(shelf: Shelf) -> None:
    one, other = (
        pin_of(CONTENT, KIND, libraries={name: path})
        for name, path in (("libx.so.9.0", "lib64/libx.so.9.0"), ("liby.so.9.0", "lib64/liby.so.9.0.1"))
    )
    shelf.libraries().libraries(one)
    shelf.libraries().libraries(other)
    shelf.store.remove(f"sha256:{PIN.sha256}")
    assert len(shelf.libraries().libraries(PIN)) == 3


def test_a_modified_record_is_not_believed(shelf: Shelf) -> None:
    shelf.libraries().libraries(PIN)
    record = shelf.store.folder / f"archives/{PIN.sha256}.json"
    record.write_text(record.read_text().replace(sha256(LIBRARY), sha256(EULA)))
    assert {each.digest for each in shelf.libraries().libraries(PIN).values()} >= {f"sha256:{sha256(LIBRARY)}"}


def test_libraries_of_known_hash_come_from_another_archive(shelf: Shelf) -> None:
    wheel = archive_of(ArchiveFormat.WHEEL)
    of_wheel = pin_of(wheel, ArchiveFormat.WHEEL, name="cntk-gpu", eula="")
    shelf.archives[of_wheel.id] = wheel
    shelf.libraries().libraries(of_wheel)
    known = pin_of(CONTENT, KIND, hashes=HASHES, eula="")
    assert shelf.libraries().missing([known]) == ()
    assert list(shelf.libraries().libraries(known)) == [
        "usr/lib/x86_64-linux-gnu/libx.so.9.0",
        "usr/lib/x86_64-linux-gnu/liby.so.9.0.1",
    ]
    assert shelf.fetched == ["cntk-gpu"]


def test_a_recorded_library_with_another_hash_than_the_lock_stops_the_build(shelf: Shelf) -> None:
    shelf.libraries().libraries(PIN)
    with pytest.raises(VerificationFailed, match="the lock has"):
        shelf.libraries().libraries(pin_of(CONTENT, KIND, hashes={"libx.so.9.0": "0" * 64}))
