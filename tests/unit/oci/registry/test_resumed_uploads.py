"""An upload of a killed run is continued by the next one, and whatever its record says, the right blob arrives."""

from __future__ import annotations

import hashlib
import io
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import SourceUnreachable
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.failures import TransferStopped
from envbuilder.oci.registry.parallel import TransferState
from envbuilder.oci.registry.upload_records import FOLDER, UploadRecords
from envbuilder.oci.registry.uploads import Upload
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer
from tests.fakes.pushing import push
from tests.unit.oci.registry.conftest import image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry, sha256

CONTENT = random.Random(5).randbytes(3_000_000)  # noqa: S311  content, not a secret
PIECE = 1_000_000
BLOB = Descriptor(media_type="x", digest=sha256(CONTENT), size=len(CONTENT))


@pytest.fixture
def records(tmp_path: Path) -> UploadRecords:
    return UploadRecords(folder=tmp_path / "uploads")


def upload(client: RegistryClient, registry: Registry, records: UploadRecords, stop_at: int = 1 << 30) -> list[str]:
    """Upload the blob, or stop as a killed process does; return the ranges that were sent."""

    def stop(seen: Transfer) -> None:
        if seen.current >= stop_at:
            raise TransferStopped("as if it was killed")

    before = len(registry.seen)
    repository = client.repository(reference(registry), push=True)
    with records.of(repository.place, BLOB.digest) as record:
        Upload(
            repository=repository,
            blob=BLOB,
            item="x",
            stream=io.BytesIO(CONTENT),
            watch=TransferState(stop),
            record=record,
            piece=PIECE,
        ).run()
    assert registry.blobs["team/tf", BLOB.digest] == CONTENT
    return [seen.headers["Content-Range"] for seen in registry.seen[before:] if seen.method == "PATCH"]


def interrupt(client: RegistryClient, registry: Registry, records: UploadRecords) -> None:
    """Leave in the middle of the second piece, and wait until the registry has noticed it."""
    with pytest.raises(TransferStopped):
        upload(client, registry, records, PIECE + PIECE // 2)
    assert registry.left.wait(60)


def only_upload(registry: Registry) -> bytearray:
    [found] = registry.uploads.values()
    return found.content


def only_record(records: UploadRecords) -> Path:
    [path] = records.folder.iterdir()
    return path


def test_the_next_run_sends_the_rest(client: RegistryClient, registry: Registry, records: UploadRecords) -> None:
    interrupt(client, registry, records)
    had = len(only_upload(registry))
    assert had >= PIECE
    assert upload(client, registry, records)[0].startswith(f"{had}-")


def test_nothing_is_sent_if_only_the_end_was_missing(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    registry.faults = [Fault(match="PUT ", status=403)]
    with pytest.raises(SourceUnreachable, match="403"):
        upload(client, registry, records)
    assert upload(client, registry, records) == []


def test_a_finished_upload_leaves_no_record(client: RegistryClient, registry: Registry, records: UploadRecords) -> None:
    upload(client, registry, records)
    assert list(records.folder.iterdir()) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 416])
def test_a_lost_upload_starts_again(
    client: RegistryClient, registry: Registry, records: UploadRecords, status: int
) -> None:
    interrupt(client, registry, records)
    registry.faults = [Fault(match="GET .*/uploads/", status=status)]
    assert upload(client, registry, records)[0].startswith("0-")


@pytest.mark.parametrize("request_line", ["PATCH ", "PUT "])
@pytest.mark.parametrize("status", [400, 404, 416])
def test_a_continued_upload_that_is_refused_starts_again(
    client: RegistryClient, registry: Registry, records: UploadRecords, request_line: str, status: int
) -> None:
    interrupt(client, registry, records)
    registry.faults = [Fault(match=request_line, status=status)]
    assert "0-999999" in upload(client, registry, records)


def test_other_content_in_the_registry_never_becomes_the_blob(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    interrupt(client, registry, records)
    only_upload(registry)[:3] = b"???"
    assert "0-999999" in upload(client, registry, records)
    assert set(registry.blobs) == {("team/tf", BLOB.digest)}


def test_more_content_than_the_blob_has_starts_again(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    interrupt(client, registry, records)
    only_upload(registry)[:] = bytes(len(CONTENT) + 1)
    assert upload(client, registry, records)[0] == "0-999999"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
@example(b"http://127.0.0.1:1/v2/x")
@example(b"http://[::1")
@example(b"file:///etc/passwd")
@example(b"x" * 20_000)
def test_any_record_gives_the_right_blob(
    client: RegistryClient, registry: Registry, records: UploadRecords, content: bytes
) -> None:
    repository = client.repository(reference(registry), push=True)
    with records.of(repository.place, BLOB.digest) as record:
        record.keep("x")
    only_record(records).write_bytes(content)
    assert upload(client, registry, records)[0] == "0-999999"


def test_a_record_is_for_one_repository_and_one_blob(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    interrupt(client, registry, records)
    for name, digest in (("team/other", BLOB.digest), ("team/tf", sha256(b"other"))):
        place = client.repository(reference(registry, name), push=True).place
        with records.of(place, digest) as record:
            assert record.location == ""


def test_an_old_record_is_removed(client: RegistryClient, registry: Registry, records: UploadRecords) -> None:
    interrupt(client, registry, records)
    os.utime(only_record(records), (1, 1))
    assert upload(client, registry, records)[0] == "0-999999"


def test_two_processes_do_not_continue_one_upload(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    interrupt(client, registry, records)
    place = client.repository(reference(registry), push=True).place
    with records.of(place, BLOB.digest) as mine:
        assert mine.location
        assert upload(client, registry, records)[0] == "0-999999"
        assert only_record(records).read_text() == mine.location


def test_a_record_is_readable_by_its_user_only(
    client: RegistryClient, registry: Registry, records: UploadRecords
) -> None:
    interrupt(client, registry, records)
    assert only_record(records).stat().st_mode & 0o777 == 0o600
    assert records.folder.stat().st_mode & 0o777 == 0o700


def test_an_upload_needs_no_record(client: RegistryClient, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    upload(client, registry, UploadRecords(folder=tmp_path / "file" / "uploads"))


def test_a_push_continues_the_layers_of_an_interrupted_one(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    image = image_of(store, CONTENT)
    registry.faults = [Fault(match="GET .*/uploads/", status=403)]
    registry.faults += [Fault(match="PATCH ", times=9, reset_after=2_000_000)]
    with pytest.raises(SourceUnreachable, match="403"):
        push(client, image, reference(registry), store)
    assert registry.manifests == {}
    registry.faults.clear()
    push(client, image, reference(registry), store)
    sent = [seen.headers["Content-Range"] for seen in registry.seen if seen.method == "PATCH"]
    assert f"2000000-{len(CONTENT) - 1}" in sent
    assert registry.blobs["team/tf", f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"] == CONTENT
    assert list((store.folder / FOLDER).iterdir()) == []
