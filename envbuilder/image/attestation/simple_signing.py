"""The payload of an image signature: the digest of the image, and the repository that it was signed in.

Source: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md, "Simple Signing"
"""

from __future__ import annotations

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.json_fields import parsed, text

MEDIA_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
_TYPE = "cosign container image signature"


def payload(repository: str, digest: str) -> bytes:
    """Return the content to sign for a repository, `HOST/NAME`, and the digest of a manifest in it."""
    critical = {
        "identity": {"docker-reference": repository},
        "image": {"docker-manifest-digest": digest},
        "type": _TYPE,
    }
    return canonical_json({"critical": critical, "optional": None})


def signed_digest(content: bytes) -> str:
    """Return the digest of the manifest that a payload is about; empty if it is no payload."""
    critical = parsed(content)
    if text(critical, "critical", "type") != _TYPE:
        return ""
    return text(critical, "critical", "image", "docker-manifest-digest")
