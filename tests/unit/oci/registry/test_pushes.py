"""Layers are sent before the image is complete; what a registry holds is not sent, and need not be in the store."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import AssembledImage, Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.failures import TransferStopped
from envbuilder.oci.registry.push import Push
from envbuilder.oci.registry.pushes import Pushes
from envbuilder.oci.store import Store
from tests.unit.oci.registry.conftest import image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry

LARGE = random.Random(3).randbytes(3_500_000)  # noqa: S311  content, not a secret
SMALL = b"small"


@pytest.fixture
def image(store: Store) -> AssembledImage:
    return image_of(store, LARGE, SMALL)


def begun(client: RegistryClient, store: Store, *names: ImageRef, mount_from: tuple[str, ...] = ()) -> Pushes:
    return Pushes(names, lambda name: Push(client, name, store, mount_from=mount_from))


def blobs(image: AssembledImage) -> list[Descriptor]:
    return [layer.blob for layer in image.layers]


def test_layers_that_were_sent_before_are_counted_once_and_not_sent_again(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    names = [reference(registry), reference(registry, "team/tf:2")]
    pushes = begun(client, store, *names)
    assert pushes.held(blobs(image)) == frozenset()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda layer: pushes.send(layer.id, layer.blob), image.layers))
    assert registry.manifests == {}
    registry.seen.clear()
    first, second = pushes.finish(image)
    assert (first.pushed_bytes, first.pushed_layers, first.present_layers) == (len(LARGE) + len(SMALL), 2, 0)
    assert (second.pushed_bytes, second.pushed_layers, second.present_layers) == (0, 0, 2)
    assert not any(layer.digest in line for line in registry.lines("^PUT") for layer in blobs(image))
    assert {tag for _, tag in registry.manifests} == {"1", "2", image.manifest.descriptor.digest}


def test_what_the_registry_holds_need_not_be_in_the_store(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.put_blob("team/tf", SMALL)
    registry.put_blob("base/debian", LARGE)
    pushes = begun(client, store, reference(registry), mount_from=(f"{registry.host}/base/debian",))
    assert pushes.held(blobs(image)) == {layer.digest for layer in blobs(image)}
    for layer in blobs(image):
        store.remove(layer.digest)
    [done] = pushes.finish(image)
    assert (done.pushed_layers, done.present_layers) == (0, 2)
    assert ("team/tf", "1") in registry.manifests


def test_a_layer_that_the_registry_removes_meanwhile_is_named_and_nothing_is_tagged(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    digest = registry.put_blob("team/tf", SMALL)
    pushes = begun(client, store, reference(registry))
    assert pushes.held(blobs(image)) == {digest}
    store.remove(digest)
    del registry.blobs["team/tf", digest]
    with pytest.raises(
        VerificationFailed, match=r"layer-1 .* neither in the cache directory nor in .*team/tf"
    ) as caught:
        pushes.finish(image)
    assert "run the command again" in caught.value.hint
    assert registry.manifests == {}


def test_a_layer_is_held_if_every_repository_has_it(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    large, small = blobs(image)
    registry.put_blob("team/tf", LARGE)
    registry.put_blob("team/tf", SMALL)
    registry.put_blob("other/tf", SMALL)
    pushes = begun(client, store, reference(registry), reference(registry, "other/tf:1"))
    assert pushes.held([large, small]) == {small.digest}
    pushes.send("layer-0", large)
    assert ("other/tf", large.digest) in registry.blobs


def test_without_names_nothing_is_held_or_sent(client: RegistryClient, store: Store, image: AssembledImage) -> None:
    pushes = begun(client, store)
    pushes.send("layer-0", blobs(image)[0])
    assert (pushes.held(blobs(image)), pushes.finish(image)) == (frozenset(), ())


def test_a_registry_that_refuses_the_question_ends_the_push(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.faults = [Fault(match="HEAD", status=403, times=9)]
    with pytest.raises(SourceUnreachable, match="403"):
        begun(client, store, reference(registry)).held(blobs(image))


def test_a_stopped_upload_ends_and_nothing_is_tagged(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    pushes = begun(client, store, reference(registry))
    pushes.stop()
    with pytest.raises(TransferStopped):
        pushes.send("layer-0", blobs(image)[0])
    assert (registry.manifests, ("team/tf", blobs(image)[0].digest) in registry.blobs) == ({}, False)


def test_an_upload_that_was_killed_is_sent_again_by_the_next_push(
    client: RegistryClient, registry: Registry, store: Store, image: AssembledImage
) -> None:
    registry.faults = [Fault(match="PATCH ", reset_after=1, times=99)]
    with pytest.raises(SourceUnreachable):
        begun(client, store, reference(registry)).send("layer-0", blobs(image)[0])
    registry.faults = []
    [done] = begun(client, store, reference(registry)).finish(image)
    assert done.pushed_layers == 2
    assert registry.blobs["team/tf", blobs(image)[0].digest] == LARGE
