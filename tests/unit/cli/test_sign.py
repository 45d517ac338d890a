"""`sign` and `verify --key`: is this the image of the lock, who signed it, does the bill match."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from envbuilder.core.digests import digest_of
from envbuilder.image.attestation.signing_keys import public_key
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump
from envbuilder.oci.images import MANIFEST_TYPE, Descriptor, ImageLayerPin, ImagePin, LayerFormat
from tests.fakes.catalogs import good_lock
from tests.fakes.signing import key_file
from tests.unit.cli.debs import lock_of_debs
from tests.unit.cli.running import CommandLine
from tests.unit.oci.registry.faulty import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """An image in a registry, its lock in `x.lock`, and a key."""

    reference: str
    digest: str
    lock: Lock
    key: str
    public: str


@pytest.fixture
def pushed(envbuilder: CommandLine, registry: Registry) -> Pushed:
    layer, name = b"a layer", "team/tf"
    config = json.dumps({"os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]}}).encode()
    blob = Descriptor(media_type=LayerFormat.TAR.media_type, digest=registry.put_blob(name, layer), size=len(layer))
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": "c", "digest": registry.put_blob(name, config), "size": len(config)},
        "layers": [{"mediaType": blob.media_type, "digest": blob.digest, "size": blob.size}],
    }
    digest = registry.put_manifest(name, "1", MANIFEST_TYPE, value)
    pin = ImageLayerPin(id="base", key=blob.digest, diff_id=blob.digest, blob=blob)
    image = ImagePin(format=LayerFormat.TAR, manifest=digest, config=digest_of(config), layers=(pin,))
    lock = replace(lock_of_debs(good_lock().base), image=image)
    envbuilder.write("x.lock", dump(lock))
    key = key_file(envbuilder.folder)
    return Pushed(
        reference=f"{registry.host}/{name}:1",
        digest=digest,
        lock=lock,
        key=str(key),
        public=str(key.with_suffix(".pub")),
    )


def test_a_signed_image_answers_all_three_questions(envbuilder: CommandLine, pushed: Pushed) -> None:
    signed = envbuilder("sign", pushed.reference, "--key", pushed.key, "--lock", "x.lock", "--json")
    assert signed.status == 0, signed.stderr
    [document] = json.loads(signed.stdout)["signatures"]
    assert document["reference"] == f"{pushed.reference.removesuffix(':1')}@{pushed.digest}"
    assert document["signed"] == ["image", "bill of materials", "provenance"]

    verified = envbuilder("verify", pushed.reference, "--lock", "x.lock", "--key", pushed.public)
    assert verified.status == 0, verified.stderr
    fingerprint = public_key(Path(pushed.public)).fingerprint
    assert verified.stdout.splitlines()[2:] == [
        "image: signed",
        f"  key: {fingerprint}",
        "bill of materials: signed, and equal to that of the lock",
        f"  key: {fingerprint}",
        "provenance: signed, and equal to that of the lock",
        f"  key: {fingerprint}",
    ]


def test_without_a_lock_only_the_image_is_signed(envbuilder: CommandLine, pushed: Pushed) -> None:
    signed = envbuilder("sign", pushed.reference, "--key", pushed.key)
    assert signed.status == 0, signed.stderr
    assert signed.stdout.splitlines()[0].endswith(": image")
    verified = envbuilder("verify", pushed.reference, "--lock", "x.lock", "--key", pushed.public, "--json")
    assert verified.status == 1
    document = json.loads(verified.stdout)
    assert document["same"] is True
    assert [each["problem"] is None for each in document["signatures"]] == [True, False, False]


def test_an_image_that_nobody_signed_ends_with_status_1(envbuilder: CommandLine, pushed: Pushed) -> None:
    verified = envbuilder("verify", pushed.reference, "--lock", "x.lock", "--key", pushed.public)
    assert verified.status == 1
    assert "is identical to the image of the lock" in verified.stdout
    assert "image: not signed: no signature in" in verified.stdout


def test_without_a_key_no_signature_is_looked_for(envbuilder: CommandLine, pushed: Pushed, registry: Registry) -> None:
    verified = envbuilder("verify", pushed.reference, "--lock", "x.lock", "--engine", "assemble", "--json")
    assert (verified.status, json.loads(verified.stdout)["signatures"]) == (0, [])
    assert registry.lines("sig|att|referrers") == []


def test_an_image_is_not_signed_as_that_of_another_lock(
    envbuilder: CommandLine, pushed: Pushed, registry: Registry
) -> None:
    assert pushed.lock.image
    other = replace(pushed.lock.image, manifest=f"sha256:{'1' * 64}")
    envbuilder.write("y.lock", dump(replace(pushed.lock, image=other)))
    ended = envbuilder("sign", pushed.reference, "--key", pushed.key, "--lock", "y.lock")
    assert ended.status == 2
    assert "is not the image of the lock" in ended.stderr
    assert registry.lines("PUT|POST") == []


@pytest.mark.parametrize("name", ["team/tf:1", "image/", "UPPER"])
def test_an_image_without_a_registry_has_no_signatures(envbuilder: CommandLine, pushed: Pushed, name: str) -> None:
    for command in (("sign", name, "--key", pushed.key), ("verify", name, "--lock", "x.lock", "--key", pushed.public)):
        ended = envbuilder(*command)
        assert (ended.status, "Traceback" in ended.stderr) == (2, False)


def test_an_encrypted_key_without_a_terminal_names_the_variable(envbuilder: CommandLine, pushed: Pushed) -> None:
    key = str(key_file(envbuilder.folder, "locked", password="secret"))
    ended = envbuilder("sign", pushed.reference, "--key", key)
    assert ended.status == 2
    assert "COSIGN_PASSWORD" in ended.stderr
    envbuilder.set("COSIGN_PASSWORD", "secret")
    assert envbuilder("sign", pushed.reference, "--key", key).status == 0


def test_a_build_is_signed_only_where_it_is_pushed(envbuilder: CommandLine, pushed: Pushed) -> None:
    ended = envbuilder("build", "x.lock", "--sign", pushed.key)
    assert ended.status == 2
    assert "--sign requires --push" in ended.stderr


def test_a_key_that_cannot_sign_stops_a_build_before_it_begins(envbuilder: CommandLine, pushed: Pushed) -> None:
    ended = envbuilder("build", "x.lock", "--push", "-t", pushed.reference, "--sign", pushed.public)
    assert ended.status == 2
    assert "is not a private key in PEM" in ended.stderr


def test_verifying_without_a_lock_says_how_to_specify_one(envbuilder: CommandLine) -> None:
    ended = envbuilder("verify", "registry.example/team/tf:1")
    assert ended.status == 2
    assert "next: specify it: --lock FILE|ENV" in ended.stderr
