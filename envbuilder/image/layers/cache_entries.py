"""Entries of a layer cache in a registry: for each key an OCI artifact whose only layer is the blob itself.

So the garbage collector of a registry keeps the blob, and other tools can list and copy entries.
"""

from __future__ import annotations

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.json_fields import parsed, records, text
from envbuilder.image.layers.records import LayerRecord, plain_record, record_of
from envbuilder.oci.documents import EMPTY, entry, json_document
from envbuilder.oci.images import MANIFEST_TYPE, LayerFormat, SmallBlob

ARTIFACT_TYPE = "application/vnd.envbuilder.layer.v1"
RECORD = "io.envbuilder.layer.record"


def entry_tag(key: str) -> str:
    """Return the tag of the entry of a key.

    Example:
        >>> entry_tag("sha256:" + 3 * "ab")
        'layer-ababab'
    """
    return f"layer-{key.removeprefix('sha256:')}"


def entry_manifest(key: str, record: LayerRecord, layer_format: LayerFormat) -> SmallBlob:
    """Return the entry of a layer; two machines that made the same layer write the same bytes."""
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": entry(EMPTY.descriptor),
        "layers": [entry(record.packed.blob(layer_format))],
        "annotations": {RECORD: canonical_json(plain_record(key, record)).decode()},
    }
    return json_document(MANIFEST_TYPE, manifest)


def entry_record(key: str, manifest: SmallBlob) -> LayerRecord:
    """Return the record in an entry.

    Raises:
        ValueError: It is not the entry of this key, or contradicts itself.
    """
    content = parsed(manifest.content)
    record = record_of(key, parsed(text(content, "annotations", RECORD).encode()))
    blobs = [(text(layer, "digest"), layer.get("size")) for layer in records(content, "layers")]
    if text(content, "artifactType") != ARTIFACT_TYPE or blobs != [(record.packed.digest, record.packed.size)]:
        raise ValueError(f"not the entry of {key}")
    return record
