"""Images are found and blobs fetched whatever the registry does; nothing wrong ever lands in the store."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.http.retries import TRIES
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import INDEX_TYPE, MANIFEST_TYPE, Descriptor
from envbuilder.oci.registry.client import DOCKER_LIST_TYPE, DOCKER_MANIFEST_TYPE, RegistryClient
from envbuilder.oci.registry.pull import fetch_blobs, find
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer
from tests.fakes.pushing import push
from tests.unit.oci.registry.conftest import Time, image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry, serving, sha256

CONTENT = random.Random(1).randbytes(3_500_000)  # noqa: S311  content, not a secret
BLOB = Descriptor(media_type="application/octet-stream", digest=sha256(CONTENT), size=len(CONTENT))


@pytest.fixture(autouse=True)
def content(registry: Registry) -> None:
    registry.put_blob("team/tf", CONTENT)


def fetch(client: RegistryClient, registry: Registry, store: Store, blob: Descriptor = BLOB) -> None:
    fetch_blobs(client, reference(registry), (blob,), store)


def manifest(registry: Registry, config: bytes = b'{"os":"linux"}', media_type: str = MANIFEST_TYPE) -> str:
    value = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": {"mediaType": "c", "digest": registry.put_blob("team/tf", config), "size": len(config)},
        "layers": [{"mediaType": "l", "digest": BLOB.digest, "size": BLOB.size}],
    }
    return registry.put_manifest("team/tf", config.decode(), media_type, value)


def index(registry: Registry, media_type: str, *entries: tuple[str, dict[str, str]]) -> str:
    listed = [{"mediaType": "m", "digest": digest, "size": 1, "platform": platform} for digest, platform in entries]
    value = {"schemaVersion": 2, "mediaType": media_type, "manifests": listed}
    return registry.put_manifest("team/tf", "1", media_type, value)


def test_a_blob_lands_in_the_store(client: RegistryClient, registry: Registry, store: Store) -> None:
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT


def test_what_is_there_is_not_asked_for(client: RegistryClient, registry: Registry, store: Store) -> None:
    store.put(CONTENT)
    fetch(client, registry, store)
    assert registry.seen == []


def test_an_empty_blob_needs_no_request_for_bytes(client: RegistryClient, registry: Registry, store: Store) -> None:
    fetch(client, registry, store, Descriptor(media_type="x", digest=sha256(b""), size=0))
    assert store.read(sha256(b"")) == b""


def test_a_download_that_breaks_is_taken_up(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", cut=2_000_000), Fault(match="GET .*/blobs/", cut=500_000)]
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT
    asked = [seen.headers.get("Range", "all") for seen in registry.seen if "/blobs/" in seen.path]
    assert asked[0] == "all"
    assert all(part != "all" for part in asked[1:])


def test_what_an_earlier_process_left_is_taken_up(client: RegistryClient, registry: Registry, store: Store) -> None:
    with suppress(KeyboardInterrupt), store.receiving(BLOB.digest) as receiver:
        assert receiver is not None
        receiver.write(CONTENT[:1_000_000])
        raise KeyboardInterrupt
    fetch(client, registry, store)
    assert [seen.headers["Range"] for seen in registry.seen if "/blobs/" in seen.path] == ["bytes=1000000-"]
    assert store.read(BLOB.digest) == CONTENT


def test_a_server_without_ranges_gives_it_from_the_start(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    registry.ranges = False
    registry.faults = [Fault(match="GET .*/blobs/", cut=2_000_000)]
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT


def test_a_configuration_that_was_cut_off_is_asked_for_again(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    image = image_of(store, b"layer")
    push(client, image, reference(registry), store)
    registry.faults = [Fault(match="GET .*/blobs/", cut=10)]
    assert find(client, reference(registry)).config == image.config
    assert len(registry.lines("GET .*/blobs/")) == 2


def test_416_begins_anew(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", cut=2_000_000), Fault(match="GET .*/blobs/", status=416)]
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT


@pytest.mark.parametrize("fault", [{"damage": True}, {"damage": True, "cut": 1_000_000}])
def test_damage_is_fetched_once_more_from_scratch(
    client: RegistryClient, registry: Registry, store: Store, fault: dict[str, int]
) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", **fault)]  # type: ignore[arg-type]
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT
    assert [seen.headers.get("Range") for seen in registry.seen if "/blobs/" in seen.path][-1] is None


def test_damage_twice_is_refused_and_leaves_nothing(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", damage=True, times=9)]
    with pytest.raises(VerificationFailed, match="digest"):
        fetch(client, registry, store)
    assert len(registry.lines("GET .*/blobs/")) == 2
    assert not store.has(BLOB.digest)
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []


def test_more_bytes_than_the_manifest_says_are_refused(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    short = Descriptor(media_type="x", digest=BLOB.digest, size=BLOB.size - 1)
    with pytest.raises(VerificationFailed, match="more bytes"):
        fetch(client, registry, store, short)
    assert not store.has(BLOB.digest)
    assert sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file()) == 0


def test_fewer_bytes_than_the_manifest_says_are_refused(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    long = Descriptor(media_type="x", digest=BLOB.digest, size=BLOB.size + 1)
    with pytest.raises(SourceUnreachable):
        fetch(client, registry, store, long)
    assert not store.has(BLOB.digest)


@pytest.mark.parametrize("lie", [-100, 100])
def test_a_wrong_content_length_is_survived(client: RegistryClient, registry: Registry, store: Store, lie: int) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", lie=lie)]
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT


def test_a_truncation_that_never_ends_is_given_up(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.ranges = False
    registry.faults = [Fault(match="GET .*/blobs/", cut=2_000_000, times=99)]
    with pytest.raises(SourceUnreachable, match="broke"):
        fetch(client, registry, store)
    assert len(registry.lines("GET .*/blobs/")) <= 2 * TRIES


def test_several_blobs_report_through_one_listener(client: RegistryClient, registry: Registry, store: Store) -> None:
    contents = [CONTENT[number:] for number in range(6)]
    blobs = [Descriptor(media_type="x", digest=registry.put_blob("team/tf", c), size=len(c)) for c in contents]
    told: list[Transfer] = []
    fetch_blobs(client, reference(registry), [*blobs, blobs[0]], store, listener=told.append)
    assert all(store.read(blob.digest) == c for blob, c in zip(blobs, contents, strict=True))
    assert {(t.item, t.total) for t in told if t.current == t.total} == {(b.digest, b.size) for b in blobs}
    assert len(registry.lines("GET .*/blobs/")) == 6


def test_a_missing_blob_ends_the_others(client: RegistryClient, registry: Registry, store: Store) -> None:
    missing = Descriptor(media_type="x", digest=sha256(b"no"), size=2)
    with pytest.raises(SourceUnreachable, match=r"404 Not Found \(BLOB_UNKNOWN: no such blob\)"):
        fetch_blobs(client, reference(registry), [missing, BLOB], store)


def test_an_image_is_found_by_tag_and_by_digest(client: RegistryClient, registry: Registry) -> None:
    digest = manifest(registry)
    registry.manifests["team/tf", "1"] = registry.manifests["team/tf", digest]
    by_tag = find(client, reference(registry))
    by_digest = find(client, reference(registry, f"team/tf:9@{digest}"))
    assert by_tag.manifest == by_digest.manifest
    assert by_tag.manifest.descriptor.digest == digest
    assert by_tag.config.content == b'{"os":"linux"}'
    assert by_tag.layers == (Descriptor(media_type="l", digest=BLOB.digest, size=BLOB.size),)


@pytest.mark.parametrize("form", [(INDEX_TYPE, MANIFEST_TYPE), (DOCKER_LIST_TYPE, DOCKER_MANIFEST_TYPE)])
def test_an_index_gives_its_image_for_linux_amd64(
    client: RegistryClient, registry: Registry, form: tuple[str, str]
) -> None:
    other, variant, wanted = (manifest(registry, config, form[1]) for config in (b'{"a":1}', b'{"b":1}', b'{"c":1}'))
    index(
        registry,
        form[0],
        (other, {"os": "linux", "architecture": "arm64"}),
        (other, {"os": "unknown", "architecture": "unknown"}),
        (other, {"os": "windows", "architecture": "amd64"}),
        (variant, {"os": "linux", "architecture": "amd64", "variant": "v3"}),
        (wanted, {"os": "linux", "architecture": "amd64"}),
    )
    found = find(client, reference(registry))
    assert found.manifest.descriptor.digest == wanted
    assert found.manifest.descriptor.media_type == form[1]
    assert found.config.content == b'{"c":1}'


def test_an_index_without_our_platform_says_so(client: RegistryClient, registry: Registry) -> None:
    index(registry, INDEX_TYPE, (manifest(registry), {"os": "linux", "architecture": "arm64"}))
    with pytest.raises(SourceUnreachable, match="no image for linux/amd64"):
        find(client, reference(registry))


def test_other_bytes_than_the_digest_says_are_refused(client: RegistryClient, registry: Registry) -> None:
    digest = manifest(registry)
    registry.faults = [Fault(match="GET .*/manifests/", damage=True, times=9)]
    with pytest.raises(VerificationFailed, match=digest):
        find(client, reference(registry, f"team/tf@{digest}"))


def test_a_damaged_configuration_is_refused(client: RegistryClient, registry: Registry) -> None:
    digest = manifest(registry)
    registry.faults = [Fault(match="GET .*/blobs/", damage=True, times=9)]
    with pytest.raises(VerificationFailed, match="its digest is"):
        find(client, reference(registry, f"team/tf@{digest}"))


@pytest.mark.parametrize("value", [{"schemaVersion": 1, "fsLayers": []}, [1], {"config": {"digest": "x", "size": 1}}])
def test_what_is_no_image_is_refused(client: RegistryClient, registry: Registry, value: object) -> None:
    registry.put_manifest("team/tf", "1", "application/json", value)
    with pytest.raises(SourceUnreachable):
        find(client, reference(registry))


def test_an_unknown_image_is_named(client: RegistryClient, registry: Registry) -> None:
    with pytest.raises(SourceUnreachable, match="team/tf has no manifest 1") as caught:
        find(client, reference(registry))
    assert caught.value.hint


def test_a_reference_without_host_means_the_default_registry(registry: Registry, tmp_path: Path, time: Time) -> None:
    digest = manifest(registry)
    with RegistryClient({}, [], time.pacing, default=lambda: registry.host) as client:
        assert find(client, ImageRef.parse(f"team/tf@{digest}")).manifest.descriptor.digest == digest
        with pytest.raises(SourceUnreachable, match="library/debian"):
            find(client, ImageRef.parse("debian:12"))


def test_nothing_is_pushed_to_the_default_registry(registry: Registry, tmp_path: Path, time: Time) -> None:
    with (
        RegistryClient({}, [], time.pacing, default=lambda: registry.host) as client,
        pytest.raises(UsageError),
    ):
        client.repository(ImageRef.parse("team/tf:1"), push=True)
    assert registry.seen == []


@pytest.mark.parametrize("name", ["debian", "team/tf:1", "team/tf"])
def test_a_reference_without_host_is_refused_before_any_request(client: RegistryClient, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(client, ImageRef.parse(name))
    assert "HOST/NAME:TAG" in caught.value.hint


def test_500s_are_waited_out_with_growing_pauses(
    client: RegistryClient, registry: Registry, store: Store, time: Time
) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", status=500, times=3)]
    fetch(client, registry, store)
    assert time.waits == [0.5, 1.0, 2.0]


def test_after_five_tries_the_registry_is_quoted(
    client: RegistryClient, registry: Registry, store: Store, time: Time
) -> None:
    body = b'{"errors":[{"code":"UNAVAILABLE","message":"gone\\nfishing"}]}'
    registry.faults = [Fault(match="GET .*/blobs/", status=503, body=body, times=99)]
    with pytest.raises(SourceUnreachable, match=r"503 Service Unavailable \(UNAVAILABLE: gone fishing\)") as caught:
        fetch(client, registry, store)
    assert len(registry.lines("GET .*/blobs/")) == TRIES
    assert caught.value.hint


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Retry-After", "7"),), 7.0),
        ((("Retry-After", "86400"),), 60.0),
        ((("Retry-After", "Fri, 31 Dec 2099 23:59:59 GMT"),), 60.0),
        ((("Retry-After", "Fri, 01 Jan 1999 00:00:00 GMT"),), 0.0),
        ((("Retry-After", "soon"),), 0.5),
    ],
)
def test_429_waits_as_long_as_asked_but_not_for_ever(
    client: RegistryClient,
    registry: Registry,
    store: Store,
    time: Time,
    headers: tuple[tuple[str, str], ...],
    seconds: float,
) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", status=429, headers=headers)]
    fetch(client, registry, store)
    assert time.waits == [seconds]


def test_4xx_is_final(client: RegistryClient, registry: Registry, store: Store, time: Time) -> None:
    registry.faults = [Fault(match="GET .*/blobs/", status=403)]
    with pytest.raises(SourceUnreachable, match="403 Forbidden"):
        fetch(client, registry, store)
    assert time.waits == []


def test_nobody_there_is_said_after_the_tries(client: RegistryClient, tmp_path: Path, time: Time) -> None:
    with serving() as gone:
        address = reference(gone)
    with pytest.raises(SourceUnreachable, match="does not accept connections"):
        find(client, address)
    assert len(time.waits) == TRIES - 1


@pytest.mark.parametrize(
    "config",
    [
        b"not json",
        b"[" * 100_000,
        b'{"config": "x", "rootfs": [], "history": 5}',
        b'{"rootfs": {"diff_ids": "sha256"}}',
        b'{"rootfs": {"diff_ids": [5]}}',
        b'{"rootfs": {"diff_ids": []}}',
        b'{"rootfs": {"diff_ids": ["../../x"]}}',
    ],
    ids=lambda config: config[:40].decode(),
)
def test_a_configuration_that_does_not_describe_its_layers_is_refused(
    client: RegistryClient, registry: Registry, config: bytes
) -> None:
    found = find(client, reference(registry, f"team/tf@{manifest(registry, config)}"))
    with pytest.raises(VerificationFailed, match="digest of each layer"):
        _ = found.diff_ids
