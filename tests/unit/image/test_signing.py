"""Signatures in a registry: who signed which image, and what a lock says about it; everything else is told apart."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import Pacing
from envbuilder.image.attest import Statement, statements
from envbuilder.image.attestation import dsse
from envbuilder.image.attestation.cosign_layout import (
    PAYLOAD_TYPE,
    SIGNATURE,
    Attachment,
    SignedLayer,
    attachment,
    image_payload,
    signed_digest,
)
from envbuilder.image.attestation.signing_keys import PublicKey, SigningKey, public_key
from envbuilder.image.signing import SignatureOutcome, Signed, SignedRepository, Unsigned
from envbuilder.oci.images import MANIFEST_TYPE, Descriptor, LayerFormat
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.store import Store
from tests.fakes.catalogs import DATA, good_lock
from tests.fakes.signing import made_key
from tests.unit.oci.registry.faulty import Fault, Registry

NAME = "team/tf"
LOCK = good_lock()
SIGNATURES = DATA / "signatures"


@pytest.fixture(params=[True, False])
def keeps_list(request: pytest.FixtureRequest, registry: Registry) -> None:
    """Whether the registry itself lists what refers to an image."""
    registry.referrers = request.param


@pytest.fixture
def repository(registry: Registry, tmp_path: Path) -> Iterator[SignedRepository]:
    with RegistryClient({}, [tmp_path / "config.json"], Pacing(pause=lambda _: None)) as client:
        yield SignedRepository(
            client=client, repository=f"{registry.host}/{NAME}", store=Store(folder=tmp_path / "store")
        )


@pytest.fixture
def image(registry: Registry, repository: SignedRepository) -> Descriptor:
    registry.put_manifest(NAME, "1", MANIFEST_TYPE, {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": []})
    return repository.image("1")


@pytest.fixture
def other(registry: Registry, repository: SignedRepository) -> Descriptor:
    """Another image of the repository."""
    registry.put_manifest(NAME, "2", MANIFEST_TYPE, {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": [{}]})
    return repository.image("2")


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return made_key(tmp_path)


def about(image: Descriptor) -> tuple[Statement, ...]:
    return statements(LOCK, image.digest, LayerFormat.GZIP_SPLICED)


def outcomes(
    repository: SignedRepository, image: Descriptor, key: PublicKey
) -> tuple[SignatureOutcome, SignatureOutcome, SignatureOutcome]:
    """Image, bill of materials, provenance."""
    first, second, third = repository.check(image.digest, about(image), key)
    assert (first.title, second.title, third.title) == ("image", "bill of materials", "provenance")
    return first.outcome, second.outcome, third.outcome


def manifest(registry: Registry, image: Descriptor, kind: Attachment) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(registry.manifests[NAME, kind.tag(image.digest)][1])
    return found


@pytest.mark.usefixtures("keeps_list")
def test_an_image_and_what_its_lock_says_are_signed(
    repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    assert repository.sign(image, about(image), key) == ("image", "bill of materials", "provenance")
    assert outcomes(repository, image, key.public) == (Signed(key=key.public.fingerprint),) * 3


def test_the_layout_is_that_of_cosign(
    registry: Registry, repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    repository.sign(image, about(image), key)
    [layer] = manifest(registry, image, Attachment.SIGNATURES)["layers"]
    payload = json.loads(registry.blobs[NAME, str(layer["digest"])])
    assert layer["mediaType"] == "application/vnd.dev.cosign.simplesigning.v1+json"
    assert payload == {
        "critical": {
            "identity": {"docker-reference": repository.repository},
            "image": {"docker-manifest-digest": image.digest},
            "type": "cosign container image signature",
        },
        "optional": None,
    }
    attestations = manifest(registry, image, Attachment.ATTESTATIONS)
    assert [layer["mediaType"] for layer in attestations["layers"]] == ["application/vnd.dsse.envelope.v1+json"] * 2
    assert [layer["annotations"] for layer in attestations["layers"]] == [
        {SIGNATURE: "", "predicateType": "https://cyclonedx.org/bom"},
        {SIGNATURE: "", "predicateType": "https://slsa.dev/provenance/v1"},
    ]
    assert json.loads(json.dumps(attestations["subject"]))["digest"] == image.digest


def test_what_a_key_has_signed_is_not_signed_again(
    registry: Registry, repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    repository.sign(image, (), key)
    assert repository.sign(image, about(image), key) == ("bill of materials", "provenance")
    registry.seen.clear()
    assert repository.sign(image, about(image), key) == ()
    assert registry.lines("PUT|POST|PATCH") == []


def test_signatures_of_several_keys_stand_side_by_side(
    repository: SignedRepository, image: Descriptor, key: SigningKey, tmp_path: Path
) -> None:
    second = made_key(tmp_path, "second")
    for each in (key, second):
        repository.sign(image, about(image), each)
    for each in (key, second):
        assert outcomes(repository, image, each.public) == (Signed(key=each.public.fingerprint),) * 3


def test_an_image_without_signatures_is_not_signed(
    repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    assert set(outcomes(repository, image, key.public)) == {Unsigned(reason=f"no signature in {repository.repository}")}


def test_signatures_by_another_key_do_not_count(
    repository: SignedRepository, image: Descriptor, key: SigningKey, tmp_path: Path
) -> None:
    repository.sign(image, about(image), made_key(tmp_path, "second"))
    for outcome in outcomes(repository, image, key.public):
        assert isinstance(outcome, Unsigned)
        assert f"is by the key {key.public.fingerprint}" in outcome.reason


def put(repository: SignedRepository, kind: Attachment, image: Descriptor, content: bytes, signature: str) -> None:
    """Write an attachment with one layer, as somebody with write access to the repository could."""
    media_type = PAYLOAD_TYPE if kind is Attachment.SIGNATURES else dsse.MEDIA_TYPE
    registry_blob = Descriptor(media_type=media_type, digest=repository.store.put(content), size=len(content))
    layer = SignedLayer(blob=registry_blob, annotations=((SIGNATURE, signature),))
    repository._put(kind, image, [layer])


def test_a_signature_under_an_altered_payload_does_not_count(
    repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    payload = image_payload(repository.repository, image.digest)
    signature = base64.b64encode(key.sign(payload)).decode()
    put(repository, Attachment.SIGNATURES, image, payload.replace(b"cosign", b"Cosign"), signature)
    envelope = dsse.envelope("application/vnd.in-toto+json", b"{}", key)
    put(repository, Attachment.ATTESTATIONS, image, envelope.replace(b'"e30="', b'"e31="'), "")
    for outcome in outcomes(repository, image, key.public):
        assert isinstance(outcome, Unsigned)
        assert "is by the key" in outcome.reason


def test_a_signature_of_another_image_does_not_count(
    registry: Registry, repository: SignedRepository, image: Descriptor, other: Descriptor, key: SigningKey
) -> None:
    repository.sign(other, about(other), key)
    for kind in Attachment:
        registry.manifests[NAME, kind.tag(image.digest)] = registry.manifests[NAME, kind.tag(other.digest)]
    first, second, third = outcomes(repository, image, key.public)
    assert first == Unsigned(reason=f"the key has signed another image: {other.digest}")
    assert second == third == Unsigned(reason="the key has signed that of another image")


def test_signed_statements_of_another_lock_are_told_apart(
    repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    changed = replace(LOCK, packages=LOCK.packages[:-1])
    repository.sign(image, statements(changed, image.digest, LayerFormat.GZIP_SPLICED), key)
    first, second, third = outcomes(repository, image, key.public)
    assert first == Signed(key=key.public.fingerprint)
    assert second == third == Unsigned(reason="the key has signed one that differs from that of the lock")


def test_a_signature_that_is_only_a_referrer_is_found(
    registry: Registry, repository: SignedRepository, image: Descriptor, key: SigningKey
) -> None:
    registry.referrers = False
    repository.sign(image, (), key)
    del registry.manifests[NAME, Attachment.SIGNATURES.tag(image.digest)]
    assert outcomes(repository, image, key.public)[0] == Signed(key=key.public.fingerprint)


def test_a_signature_by_cosign_is_found(registry: Registry, repository: SignedRepository) -> None:
    """Its manifest has neither a subject nor our configuration."""
    content = (SIGNATURES / "payload.json").read_bytes()
    digest = signed_digest(content)
    layer = {
        "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
        "size": len(content),
        "digest": registry.put_blob(NAME, content),
        "annotations": {SIGNATURE: (SIGNATURES / "signature.txt").read_text().strip()},
    }
    registry.put_manifest(NAME, Attachment.SIGNATURES.tag(digest), MANIFEST_TYPE, {"layers": [layer]})
    key = public_key(SIGNATURES / "cosign.pub")
    assert [each.outcome for each in repository.check(digest, (), key)] == [Signed(key=key.fingerprint)]


@pytest.mark.parametrize(
    "layers",
    [
        None,
        [{}],
        [{"mediaType": PAYLOAD_TYPE, "digest": f"sha256:{'1' * 64}", "size": 1 << 40}],
        [{"mediaType": PAYLOAD_TYPE, "digest": f"sha256:{'1' * 64}", "size": 1, "annotations": []}],
        [{"mediaType": "x", "digest": f"sha256:{'1' * 64}", "size": 1, "annotations": {SIGNATURE: "AAAA"}}],
    ],
)
def test_what_is_no_signature_is_not_read(
    registry: Registry, repository: SignedRepository, image: Descriptor, key: SigningKey, layers: object
) -> None:
    registry.put_manifest(NAME, Attachment.SIGNATURES.tag(image.digest), MANIFEST_TYPE, {"layers": layers})
    assert isinstance(outcomes(repository, image, key.public)[0], Unsigned)
    assert registry.lines("blobs") == []


def test_a_registry_that_returns_other_bytes_is_refused(
    registry: Registry, repository: SignedRepository, image: Descriptor, key: SigningKey, tmp_path: Path
) -> None:
    repository.sign(image, (), key)
    registry.faults.append(Fault(match="GET .*/blobs/", times=9, damage=True))
    fresh = replace(repository, store=Store(folder=tmp_path / "fresh"))
    with pytest.raises(VerificationFailed):
        fresh.check(image.digest, (), key.public)


def test_an_image_that_was_not_pushed_is_named(repository: SignedRepository) -> None:
    with pytest.raises(SourceUnreachable, match="has no image 9") as missing:
        repository.image("9")
    assert "--push" in missing.value.hint


def test_the_attachment_of_the_same_layers_is_the_same(image: Descriptor) -> None:
    layer = SignedLayer(blob=image, annotations=(("b", "2"), ("a", "1")))
    first = attachment(Attachment.SIGNATURES, [layer], image)
    again = attachment(Attachment.SIGNATURES, [replace(layer, annotations=(("a", "1"), ("b", "2")))], image)
    assert first.manifest == again.manifest
