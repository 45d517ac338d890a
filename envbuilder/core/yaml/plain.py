"""Conversion of nodes to the plain values of `canonical.dump`, to change a file and write it again."""

from __future__ import annotations

from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.documents import Mapping, Node, Sequence


def plain_of(node: Node) -> Plain:
    """Return the value of a node, without its lines.

    Raises:
        ValueError: A value is `null`.
    """
    if isinstance(node, Mapping):
        return {name: plain_of(value) for name, value in node.entries}
    if isinstance(node, Sequence):
        return [plain_of(item) for item in node.items]
    if node.value is None:
        raise ValueError(f"line {node.line} has no value")
    return node.value
