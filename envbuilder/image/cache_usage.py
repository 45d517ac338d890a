"""Usage report and pruning of the cache directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.cache_directories import ROOMS, TREES, Room, bytes_of, entries_of, remove, unused
from envbuilder.core.errors import UsageError
from envbuilder.image.layers.records import KeptImage, Records
from envbuilder.image.running.image_runner import in_use
from envbuilder.image.vendor.records import ARCHIVE_RECORDS
from envbuilder.oci.registry.upload_records import FOLDER as UPLOADS
from envbuilder.oci.store import Store

_TARGETS = "targets"
_KNOWN = "layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The content of a store, in bytes.

    Attributes:
        images: Names of the images, each with its distinct bytes and those that no other image needs.
        layers: Bytes of layers that an image needs.
        loose: Bytes of layers that no image needs.
        files: Bytes of everything else: downloads.
        beside: Bytes of partial downloads and of unpacked bases for compiling.
    """

    images: tuple[tuple[KeptImage, int, int], ...]
    layers: int
    loose: int
    files: int
    beside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The result of pruning.

    Attributes:
        freed: Bytes.
        in_use: Names of directories with content that another command uses and that was kept.
    """

    freed: int
    in_use: tuple[str, ...]


def usage(store: Store, records: Records) -> Usage:
    """Return the usage of a store; no content is read."""
    images = tuple(records.images())
    sizes = {digest: size for digest, size, _ in store.entries()}
    needed = [_digests(kept) for kept in images]
    layers = {digest for _, digest in records.layer_digests()}
    used = {digest for digests in needed for digest in digests}
    rows = []
    for kept, digests in zip(images, needed, strict=True):
        # Two names of one image share everything, so removing one of them frees nothing.
        others = {digest for other, their in zip(images, needed, strict=True) if other != kept for digest in their}
        rows.append((kept, _sum(sizes, digests), _sum(sizes, digests - others)))
    return Usage(
        images=tuple(rows),
        layers=_sum(sizes, used),
        loose=_sum(sizes, layers - used),
        files=_sum(sizes, sizes.keys() - used - layers),
        beside=bytes_of(store.folder / "parts", store.folder / _TARGETS),
    )


def room_usage(cache: Path) -> tuple[tuple[Room, int], ...]:
    """Return each directory of the cache beside the store, with its bytes on disk."""
    return tuple((room, bytes_of(*entries_of(cache, room))) for room in ROOMS)


def remove_image(cache: Path, store: Store, records: Records, name: str) -> int:
    """Remove a name of an image, and what only this image needs; return the bytes freed.

    Waits until no build uses the store. The unpacked image stays while a run uses it.

    Raises:
        UsageError: There is no such image.
    """
    with store.alone():
        found = records.image(name)
        if found is None:
            raise UsageError(f"image not found: {name}", hint="`envbuilder cache list` shows the names")
        records.forget_image(found.name)
        left = tuple(records.images())
        needed = {digest for other in left for digest in _digests(other)}
        freed = sum(store.remove(digest) for digest in sorted(_digests(found) - needed))
        images = frozenset(kept.image.manifest.descriptor.digest.partition(":")[2] for kept in left)
        return freed + _prune_trees(cache, store, images)[0]


def prune(cache: Path, store: Store, records: Records, *, everything: bool) -> Pruned:
    """Remove everything that can be made or fetched again and is not in use.

    Only what no image needs is removed: downloads, layers and unpacked trees of images that are gone, and what killed
    processes left; with `everything`, images, bases, interpreter archives, locks and logs too. The dates of Debian's
    suites always stay: without them a mirror could offer an older release.

    Waits until no build uses the store.
    """
    with store.alone():
        freed = _prune_store(store, records, everything=everything)
        images = frozenset(kept.image.manifest.descriptor.digest.partition(":")[2] for kept in records.images())
        trees, held = _prune_trees(cache, store, images)
        left = [TREES.name] if held else []
        freed += trees
        for room in ROOMS:
            if room is TREES or room.kept or not (everything or room.remade) or not entries_of(cache, room):
                continue
            with unused(cache, room.name) as free:
                if free:
                    freed += sum(remove(path) for path in entries_of(cache, room))
                else:
                    left.append(room.name)
    return Pruned(freed=freed, in_use=tuple(sorted(left)))


def _prune_store(store: Store, records: Records, *, everything: bool) -> int:
    freed = store.sweep() + remove(store.folder / _TARGETS) + remove(store.folder / UPLOADS)
    kept: frozenset[str] = frozenset()
    if everything:
        for image in list(records.images()):
            records.forget_image(image.name)
        freed += remove(store.folder / _KNOWN) + remove(store.folder / ARCHIVE_RECORDS)
    else:
        kept = frozenset(digest for image in records.images() for digest in _digests(image))
    for digest in [digest for digest, _, _ in store.entries() if digest not in kept]:
        freed += store.remove(digest)
    return freed


def _prune_trees(cache: Path, store: Store, images: frozenset[str]) -> tuple[int, bool]:
    """Remove unpacked trees of deleted images; return the bytes freed, and True if a tree is in use."""
    gone = [path for path in entries_of(cache, TREES) if _image_of(path) not in images or path.suffix == ".part"]
    held = [path for path in gone if path.suffix != ".part" and store.is_held(in_use(_image_of(path)))]
    return sum(remove(path) for path in gone if path not in held), bool(held)


def _image_of(tree: Path) -> str:
    """Return the digest of the image that a tree, its manifest, or a part of it belongs to."""
    return tree.name.lstrip(".").partition(".")[0]


def _digests(kept: KeptImage) -> frozenset[str]:
    image = kept.image
    documents = [image.config, image.manifest, *(document for pair in image.attached for document in pair)]
    return frozenset((*(blob.digest for blob in image.blobs), *(each.descriptor.digest for each in documents)))


def _sum(sizes: dict[str, int], digests: Iterable[str]) -> int:
    return sum(sizes.get(digest, 0) for digest in digests)
