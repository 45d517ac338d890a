"""From nodes back to the plain values that `canonical.dump` takes, to change a file and write it again."""

from __future__ import annotations

from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.documents import Mapping, Node, Sequence


def plain_of(node: Node) -> Plain:
    """The value of a node, without its lines.

    Raises:
        ValueError: Something has no value (`null`).
    """
    if isinstance(node, Mapping):
        return {name: plain_of(value) for name, value in node.entries}
    if isinstance(node, Sequence):
        return [plain_of(item) for item in node.items]
    if node.value is None:
        raise ValueError(f"line {node.line} has no value")
    return node.value
