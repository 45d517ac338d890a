"""State of an image that is being assembled: its plan, the keys of its layers, and those already known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import HOOK
from envbuilder.image.layers.cached_bases import fetch_tree
from envbuilder.image.layers.inputs import Ingredients
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.ports import AssemblyContext, LayerCache
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.plan.keys import layer_key, python_key
from envbuilder.image.plan.layers import plan
from envbuilder.image.plan.plan import Layer, LayerKind, Plan
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin, ToolName
from envbuilder.lock.lockfile import digest, dump_pins
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat
from envbuilder.oci.store import Store

Elsewhere: TypeAlias = Callable[[Sequence[Descriptor]], frozenset[str]]
"""Returns which of some layers, by digest, are neither needed in the store nor made."""

_MOST_NAMED = 8

_FROM_TREE = (LayerKind.BASE, LayerKind.SYSTEM, LayerKind.INTERPRETER)
"""Layers that cannot be made without the tree of the base. Others may need its interpreter."""


@dataclass(kw_only=True)
class Draft:
    """An image that is being assembled.

    Attributes:
        keys: Key by layer id.
        known: Records of the known layers, by layer id; unknown ones are left out.
        unrecorded: Ids of the layers that only the lock knows, so that their libraries are unknown.
        cached: Ids of the layers that only the cache knows.
        in_base: Layers that the base already contains.
        base_config: Configuration of a registry image as base; empty for a tree.
        elsewhere: Digests of known layers that are neither needed in the store nor made.
    """

    plan: Plan
    ingredients: Ingredients
    layer_format: LayerFormat
    keys: dict[str, str]
    known: dict[str, LayerRecord]
    unrecorded: frozenset[str]
    cached: frozenset[str]
    in_base: tuple[ImageLayerPin, ...]
    base_config: Mapping[str, object]
    elsewhere: frozenset[str]

    @property
    def lock(self) -> Lock:
        """The lock of the image."""
        return self.plan.lock

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that are to be made."""
        return tuple(layer for layer in self.plan.layers if not (self.in_base and layer.kind is LayerKind.BASE))

    @property
    def store(self) -> Store:
        """The store that receives its layers."""
        return self.ingredients.store

    def to_make(self) -> tuple[Layer, ...]:
        """Return the layers that are not in the store, or unknown."""
        return tuple(
            layer for layer in self.layers if layer.id not in self.known or not self._is_elsewhere_or_there(layer.id)
        )

    def to_pull(self) -> tuple[Packed, ...]:
        """Return the known layers that are needed in the store and missing there."""
        return tuple(
            self.known[layer.id].packed
            for layer in self.layers
            if layer.id in self.known and not self._is_elsewhere_or_there(layer.id)
        )

    def forget_missing(self) -> None:
        """Forget layers that only the cache knows and that it did not give: they are made, whatever it stated."""
        for layer in self.cached:
            if not self._is_elsewhere_or_there(layer):
                del self.known[layer]

    def is_confirmed(self, layer: Layer) -> bool:
        """Return True if a layer is known by more than a statement of the lock."""
        return layer.id in self.known and layer.id not in self.unrecorded

    def _is_elsewhere_or_there(self, layer: str) -> bool:
        packed = self.known[layer].packed
        return packed.digest in self.elsewhere or self.store.has(packed.digest, packed.size)

    def needs_base(self) -> bool:
        """Return True if layers of the base have to be fetched, or if its tree is needed to make a layer."""
        if self.in_base:
            return any(
                layer.blob.digest not in self.elsewhere and not self.store.has(layer.blob.digest)
                for layer in self.in_base
            )
        return any(layer.kind in _FROM_TREE for layer in self.to_make())

    def refuse_apt(self) -> None:
        """Raise UsageError if a layer that has to be made needs OS packages on a registry image.

        Such a base is configured for archives of its own, so the lock names these packages by name, version and hash,
        and only apt in a container of the base knows where their files are.
        """
        if self.lock.base.kind.is_tree:
            return
        made = self.to_make()
        added = [pin.name for layer in made for pin in layer.os_packages]
        if any(self.plan.built_in(layer) for layer in made):
            added += [pin.name for pin in self.lock.build_os_packages]
        if added:
            names = ", ".join(added[:_MOST_NAMED]) + (" …" if len(added) > _MOST_NAMED else "")
            raise UsageError(
                f"OS packages on a registry image require a container engine, whose apt installs them: {names}",
                hint="use --engine docker, or a Debian base: --base ID",
            )

    def files_of(self, layer: Layer) -> tuple[PackagePin, ...]:
        """Return the files that a layer is made from."""
        match layer.kind:
            case LayerKind.BYTECODE:
                pins = layer.compiled
            case LayerKind.LINKS:
                pins = self.lock.group(PackageGroup.CUDA)
            case _:
                pins = layer.packages
        if all(pin.is_wheel for pin in pins):
            return pins
        if layer.kind is LayerKind.OWN and self.plan.own_build_tools:
            below = self.lock.below_own
            tools = self.plan.build_tools if any(not pin.is_wheel for pin in below) else ()
            return (*pins, *self.plan.own_build_tools, *below, *tools)
        return (*pins, *self.plan.build_tools)

    def waits_for(self, layer: Layer) -> tuple[str, ...]:
        """Return the hashes of the files that a layer waits for, if they are fetched.

        A layer above the environment is compared with those below. The digest of the base is among them for layers that
        cannot be made without its tree, and for bytecode, which usually needs its interpreter.
        """
        below = self.lock.packages if layer.kind in {LayerKind.PROFILE, LayerKind.OWN} else ()
        pins = (pin.sha256 for pin in (*self.files_of(layer), *below))
        base = (self.lock.base.digest,) if layer.kind in {*_FROM_TREE, LayerKind.BYTECODE} else ()
        return (*pins, *(archive.sha256 for archive in layer.archives), *base)

    def archives(self) -> tuple[ArchivePin, ...]:
        """Return the vendor archives of the layers that have to be made."""
        return tuple(pin for layer in self.to_make() for pin in layer.archives)

    def missing(self) -> list[PackagePin]:
        """Return the files that have to be fetched for the layers that have to be made."""
        pins = {pin.sha256: pin for layer in self.to_make() for pin in self.files_of(layer)}
        return [pin for pin in pins.values() if not self.store.has(f"sha256:{pin.sha256}")]


def draft(lock: Lock, layer_format: LayerFormat, context: AssemblyContext, work: Path, elsewhere: Elsewhere) -> Draft:
    """Return the initial state of an image."""
    known: dict[str, LayerRecord] = {}
    base = context.bases.open(lock, lambda: fetch_tree(lock, known.get(LayerKind.BASE), layer_format, context))
    in_base = base.layers
    planned = plan(lock, digest(lock), below=max(len(in_base), 1))
    probe, hook = lock.tool(ToolName.PROBE), lock.tool(HOOK)
    held = (digest(lock), probe.sha256 if probe else "", *([hook.sha256] if hook else []))
    keys = {layer.id: layer_key(planned, layer, layer_format, image_inputs=held) for layer in planned.layers}
    recorded = _recorded(keys, context.records)
    pinned = _pinned(lock.image, layer_format, keys)
    unrecorded = {layer: record for layer, record in pinned.items() if _packed(recorded.get(layer)) != record.packed}
    known |= recorded | unrecorded
    cached = _cached(planned, {layer: key for layer, key in keys.items() if layer not in known}, in_base, context.cache)
    known |= cached
    blobs = [record.packed.blob(layer_format) for record in known.values()] + [layer.blob for layer in in_base]
    return Draft(
        plan=planned,
        layer_format=layer_format,
        keys=keys,
        known=known,
        unrecorded=frozenset(unrecorded),
        cached=frozenset(cached),
        in_base=in_base,
        base_config=base.config,
        elsewhere=elsewhere([blob for blob in dict.fromkeys(blobs) if not context.store.has(blob.digest, blob.size)]),
        ingredients=Ingredients(
            lock=lock,
            lock_text=dump_pins(lock),
            probe=lambda: context.files.tool(lock, ToolName.PROBE),
            hook=lambda: context.files.tool(lock, HOOK),
            base=base.content,
            build_base=lambda: context.bases.open(lock.build_stage, lambda: None).content,
            store=context.store,
            archive=lambda: context.files.archive(lock),
            archives=context.archives,
            work=Path(tempfile.mkdtemp(dir=work)),
            sandbox=context.sandbox,
            python_key=python_key(lock),
        ),
    )


def _packed(record: LayerRecord | None) -> Packed | None:
    return record.packed if record else None


def _recorded(keys: Mapping[str, str], records: Records) -> dict[str, LayerRecord]:
    """Return the layers that this store knows, by layer id."""
    found = {layer: records.layer(key) for layer, key in keys.items()}
    return {layer: record for layer, record in found.items() if record}


def _pinned(pinned: ImagePin | None, layer_format: LayerFormat, keys: Mapping[str, str]) -> dict[str, LayerRecord]:
    """Return the layers that the lock knows, by layer id."""
    if pinned is None or pinned.format is not layer_format:
        return {}
    by_key = {
        layer.key: Packed(
            digest=layer.blob.digest, size=layer.blob.size, diff_id=layer.diff_id, contents=layer.contents
        )
        for layer in pinned.layers
    }
    return {layer: LayerRecord(packed=by_key[key]) for layer, key in keys.items() if key in by_key}


def _cached(
    planned: Plan, keys: Mapping[str, str], in_base: Sequence[ImageLayerPin], cache: LayerCache
) -> dict[str, LayerRecord]:
    """Return the layers that the cache knows, by layer id; those of a registry image as base have no key."""
    asked = [
        layer.id for layer in planned.layers if layer.id in keys and not (in_base and layer.kind is LayerKind.BASE)
    ]
    found = cache.find(list(dict.fromkeys(keys[layer] for layer in asked))) if asked else {}
    return {layer: found[keys[layer]] for layer in asked if keys[layer] in found}
