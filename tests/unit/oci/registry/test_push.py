"""An image is pushed through every trouble on the way, or not at all; the tag comes last."""

from __future__ import annotations

import io
import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.http.retries import TRIES
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import INDEX_TYPE, AssembledImage, Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.parallel import TransferState
from envbuilder.oci.registry.uploads import PIECE, Upload
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer
from tests.fakes.pushing import push
from tests.unit.oci.registry.conftest import Time, image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry, sha256

_random = random.Random(2)  # noqa: S311  content, not a secret
LARGE = _random.randbytes(3_500_000)
SMALL = b"small"
PATCH = "PATCH "
COMMIT = "PUT .*/blobs/"


@pytest.fixture
def image(store: Store) -> AssembledImage:
    return image_of(store, LARGE, SMALL)


def is_pushed(registry: Registry, image: AssembledImage, name: str = "team/tf", tag: str = "1") -> bool:
    blobs = all((name, blob.digest) in registry.blobs for blob in image.blobs)
    return blobs and registry.manifests.get((name, tag), ("", b""))[1] == image.manifest.content


def is_untouched(registry: Registry) -> bool:
    return registry.manifests == {} and registry.lines("PUT .*/manifests/") == []


def test_a_push_brings_everything_and_says_how_much(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage, time: Time
) -> None:
    result = push(client, image, reference(registry), store)
    assert is_pushed(registry, image)
    assert result.reference == f"{registry.host}/team/tf:1"
    assert result.digest == image.manifest.descriptor.digest
    assert (result.pushed_layers, result.present_layers) == (2, 0)
    assert result.pushed_bytes == len(LARGE) + len(SMALL)


def test_the_tag_is_set_after_everything_else(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    push(client, image, reference(registry), store)
    puts = registry.lines("^PUT ")
    assert puts[-2:] == [
        f"PUT /v2/team/tf/manifests/{image.manifest.descriptor.digest}",
        "PUT /v2/team/tf/manifests/1",
    ]
    assert all("/blobs/" in line for line in puts[:-2])


def test_a_second_push_sends_nothing(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    push(client, image, reference(registry), store)
    registry.seen.clear()
    result = push(client, image, reference(registry), store)
    assert (result.pushed_bytes, result.pushed_layers, result.present_layers) == (0, 0, 2)
    assert registry.lines("^POST|^PATCH") == []


def test_a_layer_that_occurs_twice_is_sent_once(client: RegistryClient, registry: Registry, store: Store) -> None:
    twice = image_of(store, SMALL, SMALL)
    assert push(client, twice, reference(registry), store).pushed_layers == 1
    assert is_pushed(registry, twice)


def test_an_empty_layer_is_pushed(client: RegistryClient, registry: Registry, store: Store) -> None:
    empty = image_of(store, b"")
    push(client, empty, reference(registry), store)
    assert is_pushed(registry, empty)


def test_a_reference_by_digest_sets_no_tag(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    digest = image.manifest.descriptor.digest
    push(client, image, reference(registry, f"team/tf@{digest}"), store)
    assert set(registry.manifests) == {("team/tf", digest)}


def test_another_digest_in_the_reference_is_refused(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    with pytest.raises(UsageError):
        push(client, image, reference(registry, f"team/tf@{sha256(b'')}"), store)
    assert registry.lines("/team/tf/") == []


def test_a_reference_without_host_is_refused(client: RegistryClient, store: Store, image: AssembledImage) -> None:
    with pytest.raises(UsageError, match="does not start with a host"):
        push(client, image, ImageRef.parse("team/tf:1"), store)


def upload(client: RegistryClient, registry: Registry, piece: int = PIECE) -> list[str]:
    """Upload `LARGE` in pieces; gives the ranges that were sent."""
    Upload(
        repository=client.repository(reference(registry), push=True),
        blob=Descriptor(media_type="x", digest=sha256(LARGE), size=len(LARGE)),
        item="x",
        stream=io.BytesIO(LARGE),
        watch=TransferState(),
        piece=piece,
    ).run()
    assert registry.blobs["team/tf", sha256(LARGE)] == LARGE
    return [seen.headers["Content-Range"] for seen in registry.seen if seen.method == "PATCH"]


@pytest.mark.parametrize("kept", [2, 70_000, 2_000_000])
def test_an_upload_that_breaks_goes_on_where_the_registry_says(
    client: RegistryClient, registry: Registry, kept: int
) -> None:
    registry.faults = [Fault(match=PATCH, reset_after=kept)]
    assert upload(client, registry) == ["0-3499999", f"{kept}-3499999"]


def test_a_first_byte_is_sent_again_because_registries_tell_none_and_one_alike(
    client: RegistryClient, registry: Registry
) -> None:
    registry.faults = [Fault(match=PATCH, reset_after=1)]
    assert upload(client, registry) == ["0-3499999", "0-3499999"]


def test_a_token_that_ends_in_the_middle_is_renewed(client: RegistryClient, registry: Registry) -> None:
    registry.tokens = set()
    clear = registry.tokens.clear
    registry.faults = [
        Fault(match="PATCH .*", times=1),
        Fault(match="PATCH ", act=clear),
        Fault(match=COMMIT, act=clear),
    ]
    upload(client, registry, 2_000_000)
    assert registry.issued == 3


def test_pieces_follow_each_other(client: RegistryClient, registry: Registry) -> None:
    registry.faults = [Fault(match=PATCH, times=2), Fault(match=PATCH, reset_after=300_000)]
    sent = upload(client, registry, 1_000_000)
    assert sent == ["0-999999", "1000000-1999999", "2000000-2999999", "2300000-3299999", "3300000-3499999"]


def test_a_registry_may_ask_for_larger_pieces(client: RegistryClient, registry: Registry) -> None:
    registry.smallest_piece = 2_000_000
    assert upload(client, registry, 100_000) == ["0-1999999", "2000000-3499999"]


@pytest.mark.parametrize("status", [404, 416])
def test_a_lost_session_is_begun_anew(client: RegistryClient, registry: Registry, store: Store, status: int) -> None:
    image = image_of(store, LARGE)
    registry.faults = [Fault(match=PATCH, status=status)]
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)


def test_a_session_lost_while_the_connection_broke_is_begun_anew(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    image = image_of(store, LARGE)
    registry.faults = [Fault(match=PATCH, reset_after=90_000), Fault(match="GET .*/uploads/", forget=True)]
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)


def test_a_session_that_is_always_lost_is_given_up(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.faults = [Fault(match=PATCH, status=404, times=999)]
    with pytest.raises(SourceUnreachable, match="has lost it"):
        push(client, image_of(store, LARGE), reference(registry), store)
    assert is_untouched(registry)


def test_a_lost_answer_to_the_last_request_is_no_second_upload(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    image = image_of(store, LARGE)
    registry.faults = [Fault(match=f"{COMMIT}.*{image.layers[0].blob.digest}", cut=0)]
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)
    ranges = [s.headers["Content-Range"] for s in registry.seen if s.method == "PATCH"]
    assert ranges.count(f"0-{len(LARGE) - 1}") == 1


@pytest.mark.parametrize("status", [500, 503, 429])
@pytest.mark.parametrize(
    "match", ["HEAD .*/blobs/", "POST ", PATCH, COMMIT, "PUT .*/manifests/sha", "PUT .*/manifests/1"]
)
def test_troubles_that_pass_are_waited_out(
    client: RegistryClient,
    registry: Registry,
    store: Store,
    image: AssembledImage,
    time: Time,
    match: str,
    status: int,
) -> None:
    registry.faults = [Fault(match=match, status=status, headers=(("Retry-After", "3"),), times=2)]
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)
    assert set(time.waits) == {3.0}


@pytest.mark.parametrize("match", ["HEAD .*/blobs/", "POST ", PATCH, COMMIT])
def test_nothing_is_tagged_when_a_blob_cannot_be_brought(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage, match: str
) -> None:
    body = b'{"errors":[{"code":"DENIED","message":"read only"}]}'
    registry.faults = [Fault(match=match, status=403, body=body, times=99)]
    with pytest.raises(SourceUnreachable, match="403 Forbidden"):
        push(client, image, reference(registry), store)
    assert is_untouched(registry)


def test_nothing_is_tagged_when_the_manifest_is_refused(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.faults = [Fault(match="PUT .*/manifests/", status=400, times=9)]
    with pytest.raises(SourceUnreachable, match="400 Bad Request"):
        push(client, image, reference(registry), store)
    assert registry.manifests == {}
    assert registry.lines("PUT .*/manifests/1") == []


def test_a_registry_that_gives_another_digest_is_not_believed(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.wrong_digest = sha256(b"other")
    with pytest.raises(VerificationFailed, match=sha256(b"other")):
        push(client, image, reference(registry), store)
    assert ("team/tf", "1") not in registry.manifests


def test_a_registry_that_gives_no_digest_is_read_back(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.tells_digest = False
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)
    assert registry.lines("GET .*/manifests/1")


def test_a_registry_that_rewrites_manifests_is_found_out(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.tells_digest = False
    registry.faults = [Fault(match="GET .*/manifests/", damage=True, times=9)]
    with pytest.raises(VerificationFailed):
        push(client, image, reference(registry), store)
    assert ("team/tf", "1") not in registry.manifests


@pytest.mark.parametrize("content", [b"X" + LARGE[1:], LARGE[:-1], LARGE[:1_000_000]])
def test_a_damaged_file_of_the_store_is_not_pushed_and_goes(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage, content: bytes
) -> None:
    path = store.path(sha256(LARGE))
    path.chmod(0o644)
    path.write_bytes(content)
    with pytest.raises(VerificationFailed):
        push(client, image, reference(registry), store)
    assert is_untouched(registry)
    assert sha256(LARGE) not in {digest for _, digest in registry.blobs}
    assert sha256(content) not in {digest for _, digest in registry.blobs}
    assert not store.has(sha256(LARGE))


def test_a_layer_that_left_the_store_is_named(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    store.remove(sha256(SMALL))
    with pytest.raises(VerificationFailed, match="layer-1"):
        push(client, image, reference(registry), store)
    assert is_untouched(registry)


def test_blobs_of_other_repositories_are_mounted(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.put_blob("base/debian", LARGE)
    others = (f"{registry.host}/nothing", f"{registry.host}/base/debian", "other.example/base/debian")
    result = push(client, image, reference(registry), store, mount_from=others)
    assert is_pushed(registry, image)
    assert (result.pushed_bytes, result.pushed_layers, result.present_layers) == (len(SMALL), 1, 1)
    assert not any("other.example" in line for line in registry.lines())
    assert registry.uploads == {}


@pytest.mark.parametrize("status", [0, 401, 403, 405])
def test_a_refused_mount_becomes_an_upload(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage, status: int
) -> None:
    registry.put_blob("base/debian", LARGE)
    registry.mounts = False
    registry.faults = [Fault(match="POST .*mount=", status=status, times=9)] if status else []
    result = push(client, image, reference(registry), store, mount_from=(f"{registry.host}/base/debian",))
    assert is_pushed(registry, image)
    assert result.pushed_layers == 2


def test_progress_is_told_by_one_thread_at_a_time(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    told: list[Transfer] = []
    push(client, image, reference(registry), store, listener=told.append)
    large = [transfer.current for transfer in told if transfer.item == "layer-0"]
    assert large == sorted(large)
    assert large[-1] == len(LARGE)
    assert {transfer.item for transfer in told} >= {"layer-0", "layer-1"}


def test_what_is_attached_goes_by_digest(client: RegistryClient, registry: Registry, store: Store) -> None:
    image = image_of(store, SMALL, attached=(b'{"bom":1}',))
    push(client, image, reference(registry), store)
    manifest, content = image.attached[0]
    assert registry.manifests["team/tf", manifest.descriptor.digest][1] == manifest.content
    assert registry.blobs["team/tf", content.descriptor.digest] == content.content
    assert registry.blobs["team/tf", sha256(b"{}")] == b"{}"
    assert {tag for _, tag in registry.manifests if not tag.startswith("sha256:")} == {"1"}
    assert registry.lines("PUT .*/manifests/")[-1].endswith("/manifests/1")


def test_a_registry_without_referrers_gets_the_fallback_tag(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    registry.referrers = False
    image = image_of(store, SMALL, attached=(b'{"bom":1}', b'{"provenance":1}'))
    tag = image.manifest.descriptor.digest.replace(":", "-")
    earlier = {"mediaType": "m", "digest": sha256(b"signature"), "size": 9, "annotations": {"kept": "yes"}}
    registry.put_manifest(
        "team/tf", tag, INDEX_TYPE, {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [earlier]}
    )
    for _ in range(2):
        push(client, image, reference(registry), store)
    media_type, content = registry.manifests["team/tf", tag]
    listed = json.loads(content)["manifests"]
    assert media_type == INDEX_TYPE
    assert listed[0] == earlier
    assert [entry["digest"] for entry in listed[1:]] == [m.descriptor.digest for m, _ in image.attached]
    assert listed[1]["artifactType"] == "application/spdx+json"
    assert listed[1]["annotations"] == {"org.example.kind": "sbom"}
    assert listed[1]["size"] == image.attached[0][0].descriptor.size
    assert registry.lines("PUT .*/manifests/")[-1].endswith("/manifests/1")


def test_a_fallback_tag_that_is_no_index_is_left_alone(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    registry.referrers = False
    image = image_of(store, SMALL, attached=(b"{1}",))
    tag = image.manifest.descriptor.digest.replace(":", "-")
    registry.put_manifest("team/tf", tag, "m", {"config": {}})
    before = registry.manifests["team/tf", tag]
    with pytest.raises(SourceUnreachable, match="is not an index"):
        push(client, image, reference(registry), store)
    assert registry.manifests["team/tf", tag] == before
    assert ("team/tf", "1") not in registry.manifests


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, len(LARGE) - 1), max_size=TRIES - 1))
def test_wherever_uploads_break_the_content_arrives(
    client: RegistryClient, registry: Registry, store: Store, cuts: list[int]
) -> None:
    image = image_of(store, LARGE)
    registry.blobs.clear()
    registry.manifests.clear()
    registry.faults = [Fault(match=PATCH, reset_after=cut) for cut in cuts]
    push(client, image, reference(registry), store)
    assert is_pushed(registry, image)
