"""All layers of an image as one tar."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.oci.layout.merge import Tree, read
from envbuilder.oci.tar.headers import END, headers, padding


def flat_tar(tree: Tree) -> Iterator[bytes]:
    """Yield a merged tree as a tar, in pieces; the bytes depend on the tree only.

    Directories come first, then members without content, then files in the order of the layers. Memory use is that of
    the list of paths.
    """
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
