"""Assembly of images without a daemon: fetch what is missing, make each layer once, write the manifests."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.provided_libraries import PACKAGES, provided
from envbuilder.image.builds import BuildStep
from envbuilder.image.container_engine import Listener
from envbuilder.image.layers.build_state import Draft, Elsewhere, draft
from envbuilder.image.layers.compressors import packer_of
from envbuilder.image.layers.image_documents import image_of, pin_of
from envbuilder.image.layers.make import clashes_between_packages
from envbuilder.image.layers.ports import AssemblyContext, LayerPushes
from envbuilder.image.layers.records import LayerRecord
from envbuilder.image.layers.schedule import Fetching, Journal, Making, cancellable, cancelled_by_interrupt
from envbuilder.image.plan.plan import LayerKind, Plan
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import AssembledImage, ImageLayerPin, LayerFormat
from envbuilder.oci.runtime.cancellation import EventCancellation

_FROM_OUTSIDE = ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "ld-linux-x86-64.so.2")
"""The driver provides these when a container starts; the last one is the loader itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """One image that was assembled.

    Attributes:
        lock: Its lock, which now contains the digests of the image.
        image: The image; its layers are in the store, except those that its registries held.
        made: Ids of the layers that were made by this run; the others were in the store.
        notes: Messages for the user: paths that two distributions contain, missing libraries.
        is_confirmed: False if the digest of a layer is only a statement of a layer cache.
    """

    lock: Lock
    plan: Plan
    image: AssembledImage
    made: frozenset[str]
    notes: tuple[str, ...]
    is_confirmed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Images that were assembled together.

    Attributes:
        images: In the order of their locks.
        fetched: Bytes that were downloaded, also for the locks since the assembly before.
        steps: Steps, in the order of their start.
        seconds: Wall time.
    """

    images: tuple[Assembled, ...]
    fetched: int
    steps: tuple[BuildStep, ...]
    seconds: float


def assemble(  # noqa: PLR0913  three are options
    locks: Sequence[Lock],
    layer_format: LayerFormat,
    context: AssemblyContext,
    listener: Listener,
    *,
    digests_only: bool = False,
    pushes: Sequence[LayerPushes] = (),
    whole: bool = True,
) -> Assembly:
    """Assemble the images of some locks; a layer that several of them share is made once.

    Args:
        locks: The locks.
        layer_format: Format of the layers.
        context: Context for assembling.
        listener: Receives progress events.
        digests_only: Make only layers whose digests are unknown: afterwards the digests are right, and layers may be
            missing in the store.
        pushes: Where each image is pushed to while it is made, in the order of the locks; empty for nowhere.
        whole: All layers have to be in the store afterwards; otherwise those that the registries of an image hold are
            neither fetched nor made.

    Raises:
        SourceUnreachable: A file is unavailable; or a registry does not respond, or refuses.
        VerificationFailed: A file does not match its digest in a lock, or a library that the image needs is missing.
        BuildFailed: A source distribution cannot be built.
        ToolFailed: The image's interpreter cannot be run here.
        DiskFull: There is no room.
        UsageError: An image needs OS packages that only a container engine can install.
    """
    started = context.clock()
    context.work.mkdir(parents=True, exist_ok=True)
    with (
        closing(EventCancellation()) as cancellation,
        ExitStack() as stack,
        cancelled_by_interrupt(cancellation),
    ):
        context = cancellable(context, cancellation)
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=context.work, prefix="assemble-")))
        journal = Journal(listener=listener, clock=context.clock)
        targets: Sequence[LayerPushes | None] = pushes or [None] * len(locks)
        drafts = [
            draft(lock, layer_format, context, work, _elsewhere(target, digests_only=digests_only, whole=whole))
            for lock, target in zip(locks, targets, strict=True)
        ]
        for each in drafts:
            # Before anything is fetched.
            each.refuse_apt()
        fetching = Fetching(context=context, journal=journal, stack=stack, cancellation=cancellation)
        making = Making(context=context, journal=journal, fetching=fetching, stack=stack)
        for each in drafts:
            fetching.pull(each)
        archives = [pin for each in drafts for pin in each.archives()]
        packages = [pin for each in drafts for pin in each.missing()]
        for each in drafts:
            # First: the interpreter in it compiles what is fetched.
            fetching.order_base(each)
        fetching.order(packages, context.archives.missing(archives), drafts)
        for each, target in zip(drafts, targets, strict=True):
            making.order(each)
            making.order_sends(each, target)
        making.settle()
        images = tuple(_finished(each, making) for each in drafts)
        fetching.close()
    fetched = context.store.received.take()
    return Assembly(images=images, fetched=fetched, steps=journal.steps(), seconds=context.clock() - started)


def _elsewhere(pushes: LayerPushes | None, *, digests_only: bool, whole: bool) -> Elsewhere:
    if digests_only:
        return lambda layers: frozenset(layer.digest for layer in layers)
    return pushes.held if pushes and not whole else lambda _layers: frozenset()


def _finished(done: Draft, making: Making) -> Assembled:
    layer_format = done.layer_format
    pins = list(done.in_base)
    records = []
    made = set()
    for layer in done.layers:
        key = done.keys[layer.id]
        if key in making.records:
            record = making.records[key].result()
            made.add(layer.id)
        else:
            record = done.known[layer.id]
        records.append(record)
        packed = record.packed
        pins.append(
            ImageLayerPin(
                id=layer.id, key=key, diff_id=packed.diff_id, blob=packed.blob(layer_format), contents=packed.contents
            )
        )
    image = image_of(done.plan, pins, done.base_config, packer=packer_of(layer_format))
    _compare(done.lock, image, layer_format)
    clashes = clashes_between_packages(done.plan, done.ingredients)
    unknown = _unknown_layers(done)
    notes = tuple(dict.fromkeys((*clashes, *unknown, *(note for record in records for note in record.notes))))
    # Of layers that only the lock knows, the libraries are unknown; they were compared when it was written.
    is_compared = done.lock.image is not None and (not made or bool(done.unrecorded - made))
    missing = () if is_compared else _missing_libraries(records, done)
    return Assembled(
        lock=replace(done.lock, image=pin_of(image, layer_format)),
        plan=done.plan,
        image=image,
        made=frozenset(made),
        notes=(*notes, *missing),
        is_confirmed=not done.cached - made,
    )


def _unknown_layers(done: Draft) -> tuple[str, ...]:
    """Return a note for each layer with listed files that is not made for this image; nothing in other formats."""
    listed = [layer for layer, _ in done.lock.prioritized_files] if done.layer_format is LayerFormat.ESTARGZ else []
    there = {layer.id for layer in done.layers}
    return tuple(
        f"`prioritized_files` names the layer {layer}, which is not made for this image: record the reads again"
        for layer in listed
        if layer not in there
    )


def _compare(lock: Lock, image: AssembledImage, layer_format: LayerFormat) -> None:
    """Raise VerificationFailed if an image differs from the one that its lock names in this format."""
    pinned = lock.image
    if pinned is None or pinned.format is not layer_format or pinned.manifest == image.manifest.descriptor.digest:
        return
    wanted = {layer.id: layer for layer in pinned.layers}
    made = {layer.id: layer for layer in image.layers}
    differ = [name for name in (*made, *(wanted.keys() - made.keys())) if wanted.get(name) != made.get(name)]
    what = f"layers {', '.join(differ)}" if differ else "its configuration"
    raise VerificationFailed(
        f"the image of {lock.environment} has the digest {image.manifest.descriptor.digest}, the lock says "
        f"{pinned.manifest}; they differ in {what}",
        hint="the lock was created by another version of envbuilder, or edited: run `envbuilder lock`",
    )


def _missing_libraries(records: Sequence[LayerRecord], done: Draft) -> tuple[str, ...]:
    """Return the libraries that a wheel requires and that are missing from the image.

    Raises:
        VerificationFailed: Some of them belong to known OS packages that the spec does not request.
    """
    here = {name for record in records for name in record.brings}
    if not any(
        layer.kind is LayerKind.BASE and record.brings for layer, record in zip(done.layers, records, strict=True)
    ):
        here |= provided(done.ingredients.base.members())
    missing = sorted({name for record in records for name in record.needs} - here - {*_FROM_OUTSIDE})
    packages = {name: PACKAGES.get(name, "") for name in missing}
    known = {name: package for name, package in packages.items() if package}
    if known:
        listing = ", ".join(f"{name} (package {package})" for name, package in known.items())
        raise VerificationFailed(
            f"the image of {done.lock.environment} lacks libraries that its packages load: {listing}",
            hint=f"add to the spec: `apt: [{', '.join(sorted(set(known.values())))}]`, then run `envbuilder lock`",
        )
    return tuple(f"{name} is required by a library of a package but missing from the image" for name in missing)
