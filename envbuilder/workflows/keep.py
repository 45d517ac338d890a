"""What is in the store, what it is for, and what can go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.assembling.records import KeptImage, Records
from envbuilder.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a store holds.

    Attributes:
        images: Names that images have here, each with its distinct bytes and those that no other image needs.
        layers: Bytes of layers that an image needs.
        loose: Bytes of layers that no image needs.
        files: Bytes of everything else: what was downloaded.
    """

    images: tuple[tuple[KeptImage, int, int], ...]
    layers: int
    loose: int
    files: int


def usage(store: Store, records: Records) -> Usage:
    """Look at a store; no content is read."""
    images = tuple(records.images())
    sizes = {digest: size for digest, size, _ in store.entries()}
    needed = [_digests(kept) for kept in images]
    layers = {digest for _, digest in records.layer_digests()}
    used = {digest for digests in needed for digest in digests}
    rows = []
    for kept, digests in zip(images, needed, strict=True):
        # Two names of one image share everything, and neither would free anything.
        others = {digest for other, their in zip(images, needed, strict=True) if other != kept for digest in their}
        rows.append((kept, _sum(sizes, digests), _sum(sizes, digests - others)))
    return Usage(
        images=tuple(rows),
        layers=_sum(sizes, used),
        loose=_sum(sizes, layers - used),
        files=_sum(sizes, sizes.keys() - used - layers),
    )


def prune(store: Store, records: Records, *, everything: bool) -> int:
    """Remove what can be made or fetched again; gives the bytes freed.

    Args:
        store: The store.
        records: Its records.
        everything: Images and their layers too; otherwise only what no image needs: downloads, layers of images that
            are gone, and what killed processes left.
    """
    with store.alone():
        freed = store.sweep()
        kept: frozenset[str] = frozenset()
        if everything:
            for image in list(records.images()):
                records.forget_image(image.name)
        else:
            kept = frozenset(digest for image in records.images() for digest in _digests(image))
        for digest in [digest for digest, _, _ in store.entries() if digest not in kept]:
            freed += store.remove(digest)
        return freed


def _digests(kept: KeptImage) -> frozenset[str]:
    image = kept.image
    documents = [image.config, image.manifest, *(document for pair in image.attached for document in pair)]
    return frozenset((*(blob.digest for blob in image.blobs), *(each.descriptor.digest for each in documents)))


def _sum(sizes: dict[str, int], digests: Iterable[str]) -> int:
    return sum(sizes.get(digest, 0) for digest in digests)
