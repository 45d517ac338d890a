"""If the archive of a lock is unavailable, its libraries come from other archives that have the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin, VendorArchive
from envbuilder.catalog.sources import Source
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.image.vendor.alternatives import AlternativeArchives, alternatives
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.oci.store import Store
from tests.fakes.vendor_archives import LIBRARIES, LIBRARY, archive_of, pin_of, sha256

WHEEL = archive_of(ArchiveFormat.WHEEL)
TAR = archive_of(ArchiveFormat.TAR_GZIP)
HASHES = {"libx.so.9.0": sha256(LIBRARY), "liby.so.9.0": sha256(LIBRARY[::-1])}
PIN = pin_of(TAR, ArchiveFormat.TAR_GZIP, name="cudnn-tar", hashes=HASHES, eula="")


def archive(name: str, content: bytes, *sonames: str) -> VendorArchive:
    """A wheel of the catalog."""
    return VendorArchive(
        id=name,
        format=ArchiveFormat.WHEEL,
        publisher="pypi",
        file=f"{name}-1.0-py3-none-any.whl",
        sha256=sha256(content),
        libraries=tuple(
            ArchivedLibrary(soname=soname, path=LIBRARIES[soname], sha256=HASHES[soname]) for soname in sonames
        ),
        agreeing=1,
        sources=(Source(text="made for this test"),),
    )


BOTH = archive("both", WHEEL, *HASHES)


@dataclass(kw_only=True)
class Shelf:
    """Publishers of some archives."""

    store: Store
    archives: dict[str, bytes]
    asked: list[str] = field(default_factory=list)

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        self.asked.append(pin.id)
        if pin.id not in self.archives:
            raise SourceUnreachable(f"{pin.file} is not here")
        self.store.put(self.archives[pin.id])
        progress(pin.size, pin.size)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(store=Store(folder=tmp_path / "store"), archives={BOTH.id: WHEEL})


def taken(shelf: Shelf, pin: ArchivePin, *catalog: VendorArchive) -> dict[str, bytes]:
    """The libraries of a pin, by their paths in an image."""
    files = AlternativeArchives(files=shelf, archives=catalog, store=shelf.store, progress=lambda _line: None)
    found = VendorArchives(store=shelf.store, files=files, progress=lambda _line: None).libraries(pin)
    return {path: shelf.store.read(each.digest) for path, each in found.items()}


def test_libraries_of_an_unavailable_archive_come_from_another_one(shelf: Shelf) -> None:
    found = taken(shelf, PIN, BOTH)
    assert shelf.asked == [PIN.id, BOTH.id]
    shelf.archives[PIN.id] = TAR
    other = Shelf(store=Store(folder=shelf.store.folder / "other"), archives=shelf.archives)
    assert taken(other, PIN, BOTH) == found
    assert other.asked == [PIN.id]


def test_libraries_may_come_from_several_archives(shelf: Shelf) -> None:
    one, two = archive("one", WHEEL, "libx.so.9.0"), archive("two", WHEEL, "liby.so.9.0")
    shelf.archives = {"one": WHEEL, "two": WHEEL}
    assert len(taken(shelf, PIN, one, two)) == 2


def test_if_no_other_archive_is_available_the_first_reason_is_told(shelf: Shelf) -> None:
    shelf.archives.clear()
    with pytest.raises(SourceUnreachable, match=f"{PIN.file} is not here"):
        taken(shelf, PIN, BOTH)


def test_another_archive_with_only_some_of_the_libraries_is_not_enough(shelf: Shelf) -> None:
    one = archive("one", WHEEL, "libx.so.9.0")
    shelf.archives = {"one": WHEEL}
    with pytest.raises(SourceUnreachable, match=f"{PIN.file} is not here"):
        taken(shelf, PIN, one)


def test_a_library_of_another_archive_with_other_bytes_than_the_catalog_says_stops_the_build(shelf: Shelf) -> None:
    wrong = replace(BOTH, libraries=tuple(replace(each, path=LIBRARIES["libx.so.9.0"]) for each in BOTH.libraries))
    with pytest.raises(VerificationFailed, match=r"liby\.so\.9\.0"):
        taken(shelf, PIN, wrong)


@pytest.mark.parametrize(
    "pin",
    [
        replace(PIN, eula="doc/EULA.txt"),
        replace(PIN, libraries=(PIN.libraries[0], replace(PIN.libraries[1], sha256=""))),
        BOTH.pin(HASHES),
    ],
    ids=["needs the text of the license", "has a library of unknown hash", "is the same archive"],
)
def test_nothing_stands_in_for_an_archive_that(pin: ArchivePin) -> None:
    assert list(alternatives(pin, [BOTH])) == []
