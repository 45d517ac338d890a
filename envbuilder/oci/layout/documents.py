"""JSON of images, read without trusting its shape: a missing or odd field is its type's empty value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.json_input import BadJson, load_json
from envbuilder.core.references import is_digest
from envbuilder.oci.images import Descriptor, Document

Record: TypeAlias = Mapping[str, object]


def parsed(content: bytes) -> object:
    """The value that a JSON text holds; None when it is no JSON."""
    try:
        return load_json(content)
    except BadJson:
        return None


def as_record(value: object) -> Record:
    """A value that should be an object."""
    return value if isinstance(value, Mapping) else {}


def as_records(value: object) -> tuple[Record, ...]:
    """The objects in a value that should be a list, in their order."""
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def text(value: Record, name: str) -> str:
    """A field that is a text."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def texts(value: Record, name: str) -> tuple[str, ...]:
    """The texts in a field that is a list, in their order."""
    found = value.get(name)
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def written(value: Record | Sequence[Record]) -> bytes:
    """A document as bytes, always the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(content: bytes) -> str:
    """`sha256:…` of these bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def document(media_type: str, content: bytes) -> Document:
    """Bytes with their own name."""
    return Document(
        descriptor=Descriptor(media_type=media_type, digest=digest_of(content), size=len(content)), content=content
    )


def entry(descriptor: Descriptor) -> dict[str, object]:
    """A descriptor as it stands in a document."""
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def descriptor(value: Record, subject: str) -> Descriptor:
    """Read a descriptor.

    Raises:
        VerificationFailed: It has no sha256 digest or no size.
    """
    digest, size = text(value, "digest"), value.get("size")
    if not is_digest(digest) or not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise VerificationFailed(f"{subject} names something without a sha256 digest or a size")
    return Descriptor(media_type=text(value, "mediaType"), digest=digest, size=size)
