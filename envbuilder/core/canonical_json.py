"""Canonical JSON: equal values give equal bytes."""

from __future__ import annotations

import json

from envbuilder.core.digests import digest_of

_ERRORS = "surrogatepass"
"""A lone surrogate represents a byte of a file name that is not UTF-8; `json.loads` restores it."""


def canonical_json(value: object) -> bytes:
    """Return a value as JSON with sorted keys, without spaces, in UTF-8.

    Example:
        >>> canonical_json({"b": [1, None], "a": "x"})
        b'{"a":"x","b":[1,null]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(errors=_ERRORS)


def indented_json(value: object) -> bytes:
    r"""Return a value as JSON with sorted keys, one field on each line, in UTF-8; for files that people read.

    Example:
        >>> indented_json({"b": 1, "a": 2})
        b'{\n "a": 2,\n "b": 1\n}\n'
    """
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False).encode(errors=_ERRORS) + b"\n"


def inputs_digest(inputs: object) -> str:
    """Return the `sha256:…` of everything that decides a result, such as the content of a layer.

    The format differs from `canonical_json`: it has spaces and is ASCII. It must never change, since keys of layers and
    digests of requests are in locks, registries and `matrices/`.
    """
    return digest_of(json.dumps(inputs, sort_keys=True).encode())
