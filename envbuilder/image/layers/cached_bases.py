"""What a layer cache replaces of a base that this machine lacks: its tree, and the names of its libraries.

The digest of a tree is that of its tar, which the lock pins: whoever holds the layer, its content is compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import LayerRecord
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.layout.layer_compression import unpacked


def fetch_tree(lock: Lock, base: LayerRecord | None, layer_format: LayerFormat, context: AssemblyContext) -> None:
    """Put the tar of a tree into the store, if its layer is known and a layer cache holds it; otherwise do nothing."""
    if base is None or base.packed.diff_id != lock.base.digest:
        return
    blob = base.packed.blob(layer_format)
    if not context.store.has(blob.digest, blob.size):
        if blob.digest not in context.cache.held([blob]):
            return
        context.cache.pull([blob], lambda _transfer: None)
    if context.store.has(blob.digest, blob.size):
        _unpack(blob.digest, lock.base.digest, context)


def with_libraries(known: Mapping[str, LayerRecord], context: AssemblyContext) -> dict[str, LayerRecord]:
    """Return layers that a lock names, by key, with the libraries that a layer cache states for the same layers.

    So the libraries of an image are compared without its base. What the cache states about digests is not used.
    """
    asked = [key for key in known if context.records.layer(key) is None]
    stated = context.cache.find(asked) if asked else {}
    return {key: stated[key] if _is_same(stated.get(key), record) else record for key, record in known.items()}


def _is_same(stated: LayerRecord | None, known: LayerRecord) -> bool:
    return stated is not None and stated.packed == known.packed


def _unpack(blob: str, tree: str, context: AssemblyContext) -> None:
    try:
        with (
            unpacked(context.store.verified(blob)) as source,
            context.store.writing(expected=tree) as copy,
        ):
            while piece := source.read(CHUNK):
                copy.write(piece)
    except VerificationFailed:
        return  # The layer is not what was stated; the tree is made from its packages.
