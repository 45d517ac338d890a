"""A registry image serves as a base with the layers that the registry has."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.base_contents import RegistryContent
from envbuilder.image.layers.inputs import BaseContent
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import find
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.unconfined import Unconfined
from envbuilder.oci.store import Store
from tests.fakes.following import following
from tests.fakes.pushing import push
from tests.unit.oci.layout.images import file, folder, image
from tests.unit.oci.registry.faulty import Registry


def no_sandbox() -> Sandbox:
    raise AssertionError("nothing of a base is run")


@pytest.fixture
def pushed(registry: Registry, tmp_path: Path) -> AssembledImage:
    """An image in the registry and not in the store of the content."""
    other = Store(folder=tmp_path / "other")
    made = image(other, [folder("etc"), file("etc/a", b"old")], [file("etc/a", b"new"), file("b", b"b")])
    with RegistryClient({}, []) as client:
        push(client, made, ImageRef.parse(f"{registry.host}/team/base:1"), other)
    return made


@pytest.fixture
def content(registry: Registry, pushed: AssembledImage, tmp_path: Path) -> RegistryContent:
    assert pushed.layers
    store = Store(folder=tmp_path / "store")
    runner = ImageRunner(
        sandbox=no_sandbox,
        lookup=lambda _: None,
        unpack=unpack,
        store=store,
        trees=tmp_path / "trees",
        following=following(tmp_path, Unconfined(work=tmp_path)),
        gpus=HostGpus(root=tmp_path, search_path=""),
        progress=lambda _: None,
    )
    reference = ImageRef.parse(f"{registry.host}/team/base:1")
    with RegistryClient({}, []) as client:
        found = find(client, reference)
    return RegistryContent(
        reference=reference,
        image=found,
        connect=partial(RegistryClient, {}, []),
        store=store,
        runner=runner,
        listener=lambda _: None,
    )


def test_its_layers_and_its_configuration_are_those_of_the_registry(
    content: RegistryContent, pushed: AssembledImage
) -> None:
    assert [(layer.blob, layer.diff_id) for layer in content.layers] == [
        (layer.blob, layer.diff_id) for layer in pushed.layers
    ]
    assert [layer.id for layer in content.layers] == ["base.0", "base.1"]
    assert content.config["rootfs"]
    assert not list(content.store.entries())


def test_its_layers_are_fetched_when_they_are_needed(content: RegistryContent, pushed: AssembledImage) -> None:
    content.provide()
    assert {layer.blob.digest for layer in pushed.layers} <= {digest for digest, _, _ in content.store.entries()}


def test_its_members_are_those_of_all_layers_merged(content: RegistryContent) -> None:
    members = {member.path: member for member in content.members()}
    assert sorted(members) == ["b", "etc", "etc/a"]
    assert members["etc/a"].read() == b"new"


def test_it_has_no_tree_to_pack_and_os_packages_on_it_are_refused(content: RegistryContent) -> None:
    base: BaseContent = content
    assert base.provide() is None
    with pytest.raises(UsageError, match="require a container engine"):
        content.added()
