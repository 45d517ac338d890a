"""Parser of a memory policy in YAML: a text, a mapping, or a list of these."""

from __future__ import annotations

from envbuilder.core.memory_policy import ALL, GpuMemory, MemoryPolicy, fraction, limit, parse, parse_one, together
from envbuilder.core.yaml.documents import Mapping, Node, Scalar, Sequence
from envbuilder.core.yaml.fields import Fields

_AMOUNTS = {"fraction": fraction, "limit": limit}


def memory_policy(fields: Fields, name: str) -> MemoryPolicy:
    """Read a memory policy, by default that of TensorFlow; record faults with their line.

    `growth`, `{limit: "4GiB"}` and `["growth", {fraction: "0.8"}]` are policies.
    """
    node = fields.node(name)
    if node is None:
        return ALL
    if isinstance(node, Scalar):
        return fields.read(node, name, parse) or ALL
    entries = node.items if isinstance(node, Sequence) else (node,)
    paths = [f"{name}[{index}]" for index in range(len(entries))] if isinstance(node, Sequence) else [name]
    gpus = [_gpu(fields, entry, path) for entry, path in zip(entries, paths, strict=True)]
    if not gpus:
        fields.fault(name, "must have at least one entry")
    try:
        return together(tuple(gpu for gpu in gpus if gpu)) if gpus and all(gpus) else ALL
    except ValueError as error:
        fields.fault(name, str(error))
        return ALL


def _gpu(fields: Fields, node: Node, path: str) -> GpuMemory | None:
    """Return the policy for one GPU; None if it is faulty."""
    if not isinstance(node, Mapping):
        return fields.read(node, path, parse_one)
    if len(node.entries) != 1 or node.entries[0][0] not in _AMOUNTS:
        fields.fault_at(path, "must have one field: fraction or limit")
        return None
    (way, amount), *_ = node.entries
    return fields.read(amount, f"{path}.{way}", _AMOUNTS[way])
