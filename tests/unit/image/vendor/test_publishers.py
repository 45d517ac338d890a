"""Archives come from a publisher, or from the directory that stands in for it, and nothing but the pinned file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFacts, ArchiveFormat, ArchivePin, Publisher, WrongHash
from envbuilder.core import units
from envbuilder.core.errors import LicenseNotAccepted, SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import Pacing
from envbuilder.core.http.web import Web
from envbuilder.image.vendor.publishers import Publishers
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Store
from tests.fakes.publisher import Publisher as Server
from tests.fakes.publisher import publisher
from tests.fakes.vendor_archives import archive_of, pin_of

KIND = ArchiveFormat.MAKESELF
CONTENT = archive_of(KIND)
PIN = pin_of(CONTENT, KIND)
OTHER = b"another file"
FACTS = ArchiveFacts(
    publishers=(
        Publisher(
            id="nvidia-developer", title="NVIDIA", address="https://nvidia.example/", eula="https://nvidia.example/eula"
        ),
        Publisher(id="pypi", title="the package index"),
    ),
    known_wrong=(
        WrongHash(
            file=PIN.file,
            sha256=hashlib.sha256(OTHER).hexdigest(),
            really="cuda_10.1.105_418.39_linux.run",
            sources=(),
        ),
    ),
)


class NoIndex:
    """An index that is not asked."""

    def find(self, pin: ArchivePin) -> IndexFile:
        raise AssertionError(f"asked for {pin.file}")


def publishers(store: Store, place: str = "", **changed: object) -> Publishers:
    plain = Publishers(
        facts=FACTS,
        places={"nvidia-developer": place} if place else {},
        accepted=True,
        store=store,
        web=Web({}),
        index=NoIndex(),
        progress=lambda _line: None,
        pacing=Pacing(pause=lambda _seconds: None),
    )
    return replace(plain, **changed)  # type: ignore[arg-type]


def silent(_done: int, _all: int) -> None:
    """No progress."""


@pytest.fixture
def server() -> Iterator[Server]:
    with publisher() as made:
        made.files[PIN.path] = CONTENT
        yield made


def test_an_archive_is_fetched_below_the_address_of_its_publisher(server: Server, store: Store) -> None:
    told: list[tuple[int, int]] = []
    publishers(store, server.address).fetch(PIN, lambda done, total: told.append((done, total)))
    assert store.read(f"sha256:{PIN.sha256}") == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))


def test_a_slow_publisher_that_redirects_delivers(server: Server, store: Store) -> None:
    server.moved, server.delay = True, 0.02
    publishers(store, server.address).fetch(PIN, silent)
    assert store.has(f"sha256:{PIN.sha256}")


def test_a_download_that_stopped_half_way_is_resumed(server: Server, store: Store) -> None:
    server.cuts = 2
    publishers(store, server.address).fetch(PIN, silent)
    assert [start for _, start in server.asked] == [0, len(CONTENT) // 2, len(CONTENT) // 2 + len(CONTENT) // 4]
    assert store.read(f"sha256:{PIN.sha256}") == CONTENT


def test_another_run_continues_where_the_last_one_gave_up(server: Server, store: Store) -> None:
    server.cuts = 99
    with pytest.raises(SourceUnreachable, match="the connection"):
        publishers(store, server.address).fetch(PIN, silent)
    server.asked.clear()
    server.cuts = 0
    publishers(store, server.address).fetch(PIN, silent)
    assert server.asked[0][1] > len(CONTENT) // 2
    assert store.read(f"sha256:{PIN.sha256}") == CONTENT


def test_another_file_stops_the_build_and_is_named_if_it_is_known(server: Server, store: Store) -> None:
    server.files[PIN.path] = OTHER
    with pytest.raises(VerificationFailed, match=r"that is cuda_10\.1\.105") as raised:
        publishers(store, server.address).fetch(PIN, silent)
    assert "never updated automatically" in raised.value.hint
    assert not list(store.entries())


def test_a_longer_file_is_not_read_to_its_end(server: Server, store: Store) -> None:
    server.files[PIN.path] = CONTENT + bytes(1000)
    with pytest.raises(VerificationFailed, match="expected size"):
        publishers(store, server.address).fetch(PIN, silent)


def test_a_missing_file_is_reported_with_the_way_to_name_a_mirror(server: Server, store: Store) -> None:
    server.files.clear()
    with pytest.raises(SourceUnreachable, match="404") as raised:
        publishers(store, server.address).fetch(PIN, silent)
    assert "sources.publishers" in raised.value.hint


@pytest.mark.parametrize("name", [PIN.file, PIN.path])
def test_a_directory_stands_in_for_a_publisher(tmp_path: Path, store: Store, name: str) -> None:
    file = tmp_path / "disk" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    publishers(store, str(tmp_path / "disk"), offline=True).fetch(PIN, silent)
    assert store.read(f"sha256:{PIN.sha256}") == CONTENT


def test_a_directory_without_the_file_says_where_to_put_it(tmp_path: Path, store: Store) -> None:
    with pytest.raises(SourceUnreachable, match="is not in") as raised:
        publishers(store, str(tmp_path)).fetch(PIN, silent)
    assert f"copy it to {tmp_path / PIN.file}" in raised.value.hint


def test_another_file_of_the_name_in_a_directory_is_refused(tmp_path: Path, store: Store) -> None:
    (tmp_path / PIN.file).write_bytes(OTHER)
    with pytest.raises(VerificationFailed, match=r"that is cuda_10\.1\.105"):
        publishers(store, str(tmp_path)).fetch(PIN, silent)


def test_nothing_is_downloaded_offline(store: Store) -> None:
    with pytest.raises(SourceUnreachable, match="downloads are disabled"):
        publishers(store, offline=True).fetch(PIN, silent)


def test_a_wheel_is_found_on_the_index(server: Server, store: Store) -> None:
    wheel = replace(PIN, publisher="pypi", path="", format=ArchiveFormat.WHEEL)

    class Index:
        def find(self, pin: ArchivePin) -> IndexFile:
            return IndexFile(file=pin.file, sha256=pin.sha256, url=f"{server.address}{PIN.path}")

    publishers(store, index=Index()).fetch(wheel, silent)
    assert store.has(f"sha256:{PIN.sha256}")


def test_a_license_is_accepted_before_anything_is_fetched(server: Server, store: Store) -> None:
    with pytest.raises(LicenseNotAccepted, match=r"https://nvidia\.example/eula"):
        publishers(store, server.address, accepted=False).fetch(PIN, silent)
    assert not server.asked


def test_what_an_archive_takes_on_disk_is_stated_before_it_is_fetched(store: Store) -> None:
    told: list[str] = []
    with pytest.raises(SourceUnreachable):
        publishers(store, offline=True, progress=told.append).fetch(PIN, silent)
    size = units.size(len(CONTENT))
    assert told == [
        f"fetching {PIN.file}: it takes {size} on disk, and its 2 libraries their own size; the rest is not unpacked"
    ]
