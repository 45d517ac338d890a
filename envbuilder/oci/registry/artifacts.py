"""Push of artifacts that refer to an image: their manifest is the only thing that names the image."""

from __future__ import annotations

from envbuilder.core.json_fields import parsed, text
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.registry import referrers
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.parallel import Listener, ignore
from envbuilder.oci.registry.push import push
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult


def push_artifact(
    client: RegistryClient,
    artifact: AssembledImage,
    reference: ImageRef,
    store: Store,
    *,
    listener: Listener = ignore,
) -> PushResult:
    """Push an artifact as an image; list it as a referrer of its subject if the registry does not do so itself.

    Arguments, result and errors as in `push`.
    """
    pushed = push(client, artifact, reference, store, listener=listener)
    subject = text(parsed(artifact.manifest.content), "subject", "digest")
    if subject:
        repository = client.repository(reference, push=True)
        # The answer to a manifest that is there already says whether the registry keeps the list.
        answer = repository.put_manifest(artifact.manifest, artifact.manifest.descriptor.digest)
        if not answer.get("OCI-Subject"):
            referrers.list_by_tag(repository, subject, [artifact.manifest])
    return pushed
