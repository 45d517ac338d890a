"""Specs from texts."""

from __future__ import annotations

from envbuilder.core.yaml.documents import read
from envbuilder.lock.spec import Spec, decoded


def read_spec(text: str, file: str) -> Spec:
    """Return the spec of a text, without those that it extends."""
    return decoded(read(text, file), file)
