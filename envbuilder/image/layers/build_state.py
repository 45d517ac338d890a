"""State of an image that is being assembled: its plan, the keys of its layers, and those already known."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core.memory_policy import HOOK
from envbuilder.image.layers.inputs import Ingredients
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import Records
from envbuilder.image.plan.keys import layer_key, python_key
from envbuilder.image.plan.layers import plan
from envbuilder.image.plan.plan import Layer, LayerKind, Plan
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin, ToolName
from envbuilder.lock.lockfile import digest, dump_pins
from envbuilder.oci.images import ImageLayerPin, ImagePin, LayerFormat
from envbuilder.oci.store import Store


@dataclass(kw_only=True)
class Draft:
    """An image that is being assembled.

    Attributes:
        plan: Its plan.
        ingredients: The inputs of its layers.
        keys: Key by layer id.
        known: Records of layers, by layer id; unknown layers are left out.
        in_base: Layers that the base already contains.
        digests_only: Layers that are known need not be in the store.
    """

    plan: Plan
    ingredients: Ingredients
    keys: dict[str, str]
    known: dict[str, Packed]
    in_base: tuple[ImageLayerPin, ...]
    digests_only: bool

    @property
    def lock(self) -> Lock:
        """The lock of the image."""
        return self.plan.lock

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that are to be made."""
        return tuple(layer for layer in self.plan.layers if not (self.in_base and layer.kind is LayerKind.BASE))

    def to_make(self, store: Store) -> tuple[Layer, ...]:
        """Return the layers that are not in the store, or unknown."""
        return tuple(
            layer
            for layer in self.layers
            if layer.id not in self.known or not (self.digests_only or _is_there(self.known[layer.id], store))
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
        return (*pins, *self.plan.build_tools) if any(not pin.is_wheel for pin in pins) else pins

    def waits_for(self, layer: Layer) -> tuple[str, ...]:
        """Return the hashes of the files that a layer waits for, if they are fetched.

        An own layer is compared with those below.
        """
        below = self.lock.packages if layer.kind is LayerKind.OWN else ()
        pins = (pin.sha256 for pin in (*self.files_of(layer), *below))
        return (*pins, *(archive.sha256 for archive in layer.archives))

    def archives(self, store: Store) -> tuple[ArchivePin, ...]:
        """Return the vendor archives of the layers that have to be made."""
        return tuple(pin for layer in self.to_make(store) for pin in layer.archives)

    def missing(self, store: Store) -> list[PackagePin]:
        """Return the files that have to be fetched for the layers that have to be made."""
        pins = {pin.sha256: pin for layer in self.to_make(store) for pin in self.files_of(layer)}
        return [pin for pin in pins.values() if not store.has(f"sha256:{pin.sha256}")]


def _is_there(layer: Packed, store: Store) -> bool:
    return store.has(layer.digest, layer.size)


def draft(lock: Lock, layer_format: LayerFormat, context: AssemblyContext, work: Path, *, digests_only: bool) -> Draft:
    """Return the initial state of an image."""
    content = context.bases.open(lock)
    in_base = content.layers
    planned = plan(lock, digest(lock), below=max(len(in_base), 1))
    probe, hook = lock.tool(ToolName.PROBE), lock.tool(HOOK)
    held = (digest(lock), probe.sha256 if probe else "", *([hook.sha256] if hook else []))
    keys = {layer.id: layer_key(planned, layer, layer_format, image_inputs=held) for layer in planned.layers}
    return Draft(
        plan=planned,
        keys=keys,
        known=_known(lock.image, layer_format, keys, context.records),
        in_base=in_base,
        digests_only=digests_only,
        ingredients=Ingredients(
            lock=lock,
            lock_text=dump_pins(lock),
            probe=lambda: context.files.tool(lock, ToolName.PROBE),
            hook=lambda: context.files.tool(lock, HOOK),
            base=content,
            store=context.store,
            archive=lambda: context.files.archive(lock),
            archives=context.archives,
            work=Path(tempfile.mkdtemp(dir=work)),
            sandbox=context.sandbox,
            python_key=python_key(lock),
        ),
    )


def _known(
    pinned: ImagePin | None, layer_format: LayerFormat, keys: dict[str, str], records: Records
) -> dict[str, Packed]:
    """Return the records of layers that the lock or this store knows; the lock takes precedence."""
    found = {}
    for layer, key in keys.items():
        record = records.layer(key)
        if record:
            found[layer] = record.packed
    if pinned and pinned.format is layer_format:
        by_key = {layer.key: layer for layer in pinned.layers}
        for layer, key in keys.items():
            if key in by_key:
                pin = by_key[key]
                found[layer] = Packed(
                    digest=pin.blob.digest, size=pin.blob.size, diff_id=pin.diff_id, contents=pin.contents
                )
    return found
