"""Envelopes of signed statements (DSSE).

Source: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md and envelope.md
"""

from __future__ import annotations

import base64
import binascii

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.json_fields import parsed, records, text
from envbuilder.image.attestation.signing_keys import PublicKey, SigningKey

MEDIA_TYPE = "application/vnd.dsse.envelope.v1+json"
_MOST = 16
"""Signatures of an envelope that are looked at: each starts a program."""


def envelope(payload_type: str, payload: bytes, key: SigningKey) -> bytes:
    """Return an envelope with a signature of a payload."""
    signature = key.sign(encoded(payload_type, payload))
    return canonical_json(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": payload_type,
            "signatures": [{"keyid": "", "sig": base64.b64encode(signature).decode()}],
        }
    )


def opened(content: bytes, payload_type: str, key: PublicKey) -> bytes | None:
    """Return the payload of an envelope; None if it has another type, or no signature of it by the key."""
    value = parsed(content)
    payload = decoded(text(value, "payload"))
    if payload is None or text(value, "payloadType") != payload_type:
        return None
    signed = encoded(payload_type, payload)
    signatures = (decoded(text(each, "sig")) for each in records(value, "signatures")[:_MOST])
    return payload if any(each and key.verifies(signed, each) for each in signatures) else None


def encoded(payload_type: str, payload: bytes) -> bytes:
    """Return the signed bytes: type and payload with their lengths, so that neither can be mistaken for the other.

    Example:
        >>> encoded("http://example.com/HelloWorld", b"hello world")
        b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    name = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def decoded(base64_text: str) -> bytes | None:
    """Return the bytes of a text in Base64, in the standard or the URL-safe alphabet; None if it is not one."""
    try:
        return base64.b64decode(base64_text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
