"""All layers of an image as one tar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.merge import Tree, merged, read
from envbuilder.oci.store import Store
from envbuilder.oci.tar.headers import END, headers, padding
from envbuilder.oci.tar.members import Member


def write_flat_tar(image: AssembledImage, store: Store, stream: BinaryIO, *, on_top: Sequence[Member] = ()) -> None:
    """Write the visible files of an image, without whiteouts; the bytes depend on the image and `on_top` only.

    Directories come first, then members without content, then files in the order of the layers. Memory use is that of
    the list of paths.

    Args:
        image: The image.
        store: Contains its layers.
        stream: Stream to write to.
        on_top: As in `merge.merged`.

    Raises:
        VerificationFailed: As in `merge.merged`.
    """
    stream.writelines(flat_tar(merged(image, store, on_top=on_top)))


def flat_tar(tree: Tree) -> Iterator[bytes]:
    """Yield a merged tree as a tar, in pieces."""
    for member in (*tree.folders, *tree.others):
        yield from headers(member)
    for member in tree.on_top:
        yield from headers(member)
        yield member.read()
        yield padding(member.size)
    for layer, wanted in zip(tree.layers, tree.files, strict=True):
        for tar, (first, *others) in read(layer, wanted):
            yield from headers(first)
            yield from tar.content()
            yield padding(first.size)
            for other in others:
                yield from headers(other, link_to=first.path)
    yield END
