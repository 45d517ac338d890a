"""Envelopes are those of DSSE: the test vector of its specification is valid, and nothing else."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from envbuilder.image.attestation.dsse import envelope, opened
from envbuilder.image.attestation.signing_keys import PublicKey, signing_key
from tests.fakes.signing import ENVIRON, key_file

# Source: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md, "Test Vectors"
TYPE = "http://example.com/HelloWorld"
X = 46950820868899156662930047687818585632848591499744589407958293238635476079160
Y = 5640078356564379163099075877009565129882514886557779369047442380624545832820
RAW = "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
VECTOR_KEY = PublicKey(P256 + X.to_bytes(32) + Y.to_bytes(32))


def der(raw: bytes) -> bytes:
    """A signature as two numbers in DER, from their concatenation."""
    numbers = [int.from_bytes(part) for part in (raw[:32], raw[32:])]
    parts = [each.to_bytes(each.bit_length() // 8 + 1) for each in numbers]
    body = b"".join(b"\x02%c%b" % (len(part), part) for part in parts)
    return b"\x30%c%b" % (len(body), body)


def vector(**changed: str) -> bytes:
    signature = base64.b64encode(der(base64.b64decode(RAW))).decode()
    value = {"payload": "aGVsbG8gd29ybGQ=", "payloadType": TYPE, "signatures": [{"sig": signature}]}
    return json.dumps(value | changed).encode()


def test_the_vector_of_the_specification_is_valid() -> None:
    assert opened(vector(), TYPE, VECTOR_KEY) == b"hello world"
    signature = json.loads(vector())["signatures"][0]["sig"].replace("+", "-").replace("/", "_")
    urlsafe = json.dumps(json.loads(vector()) | {"signatures": [{"sig": "AAAA"}, {"sig": signature}]})
    assert opened(urlsafe.encode(), TYPE, VECTOR_KEY) == b"hello world"


def test_only_the_first_signatures_are_looked_at() -> None:
    own = json.loads(vector())["signatures"]
    for others, expected in ((15, b"hello world"), (16, None)):
        content = json.loads(vector()) | {"signatures": [*[{"sig": "AAAA"}] * others, *own]}
        assert opened(json.dumps(content).encode(), TYPE, VECTOR_KEY) == expected


@pytest.mark.parametrize(
    "changed",
    [
        vector(payload="SGVsbG8gd29ybGQ="),
        vector(payloadType="http://example.com/HelloWorle"),
        vector(payload="not base64"),
        json.dumps(json.loads(vector()) | {"signatures": []}).encode(),
        b"[]",
        b"\xff",
    ],
)
def test_a_changed_envelope_is_not(changed: bytes) -> None:
    assert opened(changed, TYPE, VECTOR_KEY) is None


def test_an_envelope_of_ours_opens_with_its_key_only(tmp_path: Path) -> None:
    key = signing_key(key_file(tmp_path), environ=ENVIRON)
    content = envelope("application/x", b'{"a":1}', key)
    assert opened(content, "application/x", key.public) == b'{"a":1}'
    assert opened(content, "application/y", key.public) is None
    assert opened(content, "application/x", VECTOR_KEY) is None
