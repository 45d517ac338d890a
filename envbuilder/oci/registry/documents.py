"""Reading a registry's JSON without trusting its shape: a missing or odd field is its type's empty value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TypeAlias

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.json_input import BadJson, load_json
from envbuilder.core.references import is_digest
from envbuilder.oci.images import Descriptor, Document

Record: TypeAlias = Mapping[str, object]


def parsed(content: bytes) -> Record:
    """The object that a JSON text holds; empty when it is something else."""
    try:
        value = load_json(content)
    except BadJson:
        return {}
    return value if isinstance(value, Mapping) else {}


def record(value: Record, name: str) -> Record:
    """An object's field that is an object."""
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def records(value: Record, name: str) -> tuple[Record, ...]:
    """The objects in a field that is a list, in their order."""
    found = value.get(name)
    return tuple(item for item in found if isinstance(item, Mapping)) if isinstance(found, list) else ()


def text(value: Record, name: str) -> str:
    """A field that is a text."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def texts(value: Record, name: str) -> tuple[str, ...]:
    """The texts in a field that is a list, in their order."""
    found = value.get(name)
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def descriptor(value: Record, subject: str) -> Descriptor:
    """Read a descriptor.

    Args:
        value: Where it stands.
        subject: What it stands in, for the error.

    Raises:
        SourceUnreachable: It has no sha256 digest or no size.
    """
    digest, size = text(value, "digest"), value.get("size")
    if not is_digest(digest) or not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SourceUnreachable(
            f"{subject}: it names something without a sha256 digest or a size", hint="have the image pushed anew"
        )
    return Descriptor(media_type=text(value, "mediaType"), digest=digest, size=size)


def written(value: Record) -> bytes:
    """A document as bytes, always the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def document(media_type: str, content: bytes) -> Document:
    """Bytes with their own name."""
    return Document(
        descriptor=Descriptor(media_type=media_type, digest=digest_of(content), size=len(content)), content=content
    )


def digest_of(content: bytes) -> str:
    """`sha256:…` of these bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
