"""Documents attached to an image, listed under a tag for registries without a referrers API.

Source: https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pushing-manifests-with-subject and
https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#referrers-tag-schema
"""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.core.digests import is_digest
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.json_fields import Record, parsed, record, records, text
from envbuilder.oci.documents import attached_entry, json_document
from envbuilder.oci.images import INDEX_TYPE, SmallBlob
from envbuilder.oci.registry.client import Repository

_NO_LIST = (400, 404, 405)
"""Answers of registries without a referrers API."""

_LONGEST = 4 << 20


def list_by_tag(repository: Repository, subject: str, manifests: Sequence[SmallBlob]) -> None:
    """Add manifests to the index that lists the referrers of a subject; keep the existing entries.

    Raises:
        SourceUnreachable: The registry does not respond or refuses, or has something else under that tag.
    """
    tag = subject.replace(":", "-")
    found = repository.manifest(tag)
    index = record(parsed(found.content)) if found else {}
    if found and not isinstance(index.get("manifests"), list):
        raise SourceUnreachable(
            f"{repository.place}: the tag {tag} is not an index, so the referrers of the image cannot be listed",
            hint="remove that tag from the registry, then push again",
        )
    listed = list(records(index, "manifests"))
    known = {text(entry, "digest") for entry in listed}
    added = [_entry(manifest) for manifest in manifests if manifest.descriptor.digest not in known]
    if added:
        whole = {**index, "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [*listed, *added]}
        repository.put_manifest(json_document(INDEX_TYPE, whole), tag)


def listed(repository: Repository, subject: str, artifact_type: str) -> tuple[str, ...]:
    """Return the digests of the manifests of one type that refer to an image, as the registry or the tag lists them.

    Raises:
        SourceUnreachable: The registry does not respond, or refuses.
    """
    request = repository.request("GET", f"referrers/{subject}", f"referrers of {subject}")
    with repository.send(request, (200, *_NO_LIST)) as answer:
        index = parsed(answer.content(_LONGEST)) if answer.status == 200 else None
    if index is None:
        found = repository.manifest(subject.replace(":", "-"))
        index = parsed(found.content) if found else None
    entries = (each for each in records(index, "manifests") if text(each, "artifactType") == artifact_type)
    return tuple(digest for each in entries if is_digest(digest := text(each, "digest")))


def _entry(manifest: SmallBlob) -> Record:
    annotations = record(parsed(manifest.content), "annotations")
    return attached_entry(manifest) | ({"annotations": annotations} if annotations else {})
