"""The artifact of a lock names each file by its path, and the image that the files make."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.references import ImageRef
from envbuilder.image.bundle import files_of
from envbuilder.image.mirror.artifact import ARTIFACT_TYPE, inputs_artifact, inputs_tag
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump
from envbuilder.oci.images import MANIFEST_TYPE, Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.push import push_artifact
from envbuilder.oci.store import Store
from tests.unit.image.mirror.conftest import NAME
from tests.unit.image.toys import World
from tests.unit.oci.registry.faulty import Registry

IMAGE = Descriptor(media_type=MANIFEST_TYPE, digest=f"sha256:{'a' * 64}", size=99)


@pytest.fixture
def lock(tmp_path: Path, store: Store) -> Lock:
    """A lock of wheels, which are in the store."""
    world = World(folder=tmp_path)
    made = replace(world.lock(), tools=(), files=())
    made = replace(made, base=replace(made.base, packages=()), python=replace(made.python, sha256=""))
    for pin in made.packages:
        store.take(world.index / pin.file)
    return made


def test_every_file_stands_under_its_path_beside_the_lock(lock: Lock, store: Store) -> None:
    artifact = inputs_artifact(lock, store, None)
    manifest = json.loads(artifact.manifest.content)
    titles = {each["annotations"]["org.opencontainers.image.title"]: each["digest"] for each in manifest["layers"]}
    assert titles == {
        f"locks/{lock.environment}-{digest(lock)[7:19]}.lock": store.put(dump(lock).encode()),
        **{f"packages/{pin.file}": f"sha256:{pin.sha256}" for pin in lock.packages},
    }
    assert set(files_of(lock)) <= set(titles.values())
    assert manifest["artifactType"] == ARTIFACT_TYPE
    assert manifest["annotations"]["io.envbuilder.lock"] == digest(lock)
    assert "subject" not in manifest
    assert artifact == inputs_artifact(lock, store, None)


@pytest.mark.parametrize("keeps_list", [True, False])
def test_it_is_listed_as_a_referrer_of_the_image(
    lock: Lock, store: Store, registry: Registry, client: RegistryClient, keeps_list: bool
) -> None:
    registry.referrers = keeps_list
    target = ImageRef.parse(f"{registry.host}/{NAME}:{inputs_tag(lock)}")
    artifact = inputs_artifact(lock, store, IMAGE)
    first = push_artifact(client, artifact, target, store)
    again = push_artifact(client, artifact, target, store)
    count = len(lock.packages) + 1
    assert (first.pushed_layers, again.pushed_layers, again.present_layers) == (count, 0, count)
    listed = registry.manifests.get((NAME, IMAGE.digest.replace(":", "-")))
    assert (listed is None) is keeps_list
    if listed:
        [entry] = json.loads(listed[1])["manifests"]
        assert (entry["digest"], entry["artifactType"]) == (artifact.manifest.descriptor.digest, ARTIFACT_TYPE)
