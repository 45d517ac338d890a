"""A build signs what it has pushed: each image once in each repository, and statements only of the image of a lock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.image.attestation.signing_keys import SigningKey
from envbuilder.image.builder import BuildRun, BuiltImage, Delivered
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import MANIFEST_TYPE, ImagePin, LayerFormat
from envbuilder.oci.transfers import PushResult
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.signing import sign_pushed
from tests.fakes.catalogs import good_lock, small_catalog
from tests.fakes.signing import made_key
from tests.unit.cli.running import CommandLine
from tests.unit.oci.registry.faulty import Registry


@pytest.fixture
def session(envbuilder: CommandLine) -> Session:
    said: list[str] = []
    return Session(settings(), small_catalog(), said.append)


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return made_key(tmp_path)


def built(registry: Registry, lock: Lock, *names: str) -> BuiltImage:
    """An image that was pushed under some names of a registry; the lock names it if it names one at all."""
    value = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": []}
    digests = [registry.put_manifest(name.partition(":")[0], "1", MANIFEST_TYPE, value) for name in names]
    pushes = tuple(
        PushResult(
            reference=f"{registry.host}/{name}",
            digest=digests[0],
            pushed_bytes=0,
            pushed_layers=0,
            present_layers=0,
            seconds=0,
        )
        for name in names
    )
    pin = ImagePin(format=LayerFormat.TAR, manifest=digests[0], config=digests[0], layers=())
    return BuiltImage(
        lock=replace(lock, image=pin) if lock.image is None else lock,
        names=names,
        id="",
        size=0,
        layers=(),
        run=BuildRun(steps=(), seconds=0),
        delivered=Delivered(pushes=pushes),
    )


def test_each_repository_gets_the_signatures_once(registry: Registry, session: Session, key: SigningKey) -> None:
    image = built(registry, replace(good_lock(), image=None), "team/tf:1", "team/tf:2", "other/tf:1")
    signed = sign_pushed(session, [image], key)
    assert [each.reference.partition("@")[0] for each in signed] == [
        f"{registry.host}/team/tf",
        f"{registry.host}/other/tf",
    ]
    assert {each.signed for each in signed} == {("image", "bill of materials", "provenance")}


def test_an_image_that_the_lock_does_not_name_gets_no_statements(
    registry: Registry, envbuilder: CommandLine, key: SigningKey
) -> None:
    said: list[str] = []
    lock = good_lock()
    pin = ImagePin(format=LayerFormat.TAR, manifest=f"sha256:{'1' * 64}", config=f"sha256:{'2' * 64}", layers=())
    image = built(registry, replace(lock, image=pin), "team/tf:1")
    [signed] = sign_pushed(Session(settings(), small_catalog(), said.append), [image], key)
    assert signed.signed == ("image",)
    assert "provenance and bill of materials are not signed" in said[0]
