"""Push of a complete image."""

from __future__ import annotations

from envbuilder.core.references import ImageRef
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.push import Push
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Listener, PushResult, ignore


def push(
    client: RegistryClient,
    image: AssembledImage,
    reference: ImageRef,
    store: Store,
    *,
    mount_from: tuple[str, ...] = (),
    listener: Listener = ignore,
) -> PushResult:
    """Push an image whose layers are all in a store; see `Push`."""
    return Push(client, reference, store, mount_from=mount_from, listener=listener).finish(image, reference)
