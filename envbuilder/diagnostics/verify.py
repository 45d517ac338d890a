"""Compare an image with its lock: by digest, then layer by layer and file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin
from envbuilder.oci.layout.layer_diff import compare_layers

_MOST_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An image to be compared with its lock.

    Attributes:
        name: Name given by the user.
        manifest: Digest of its manifest; empty if the engine keeps none.
        config: Digest of its configuration.
        layers: Digest and bytes of each packed layer, lowest first; empty if only diff ids are known.
        diff_ids: Digest of each tar, lowest first.
        fetch: Writes a layer to a file, for inspection; None if that is not possible.
        document: Its configuration; `{}` if that is not available.
    """

    name: str
    manifest: str
    config: str
    layers: tuple[Descriptor, ...]
    diff_ids: tuple[str, ...]
    fetch: Callable[[int, Path], None] | None = None
    document: bytes = b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerDifference:
    """A layer that differs from the lock.

    Attributes:
        layer: Its id in the plan; its number if the plan has no such layer.
        problem: One line.
        files: Paths that differ, each with the kind of difference; at most 20, then the number of the others.
    """

    layer: str
    problem: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of a comparison of an image with its lock.

    Attributes:
        same: Whether it is that image, bit by bit.
        proof: The digests that were compared.
        differences: Layer by layer, lowest first; empty when only the configuration differs.
    """

    subject: Subject
    expected: ImagePin
    same: bool
    proof: str
    differences: tuple[LayerDifference, ...]


def verify(
    lock: Lock, subject: Subject, expected_blobs: Callable[[], Callable[[str], Path]], work: Path
) -> Verification:
    """Compare an image with its lock.

    Args:
        lock: Must name its image.
        subject: The image.
        expected_blobs: Makes the expected layers; returns their paths by digest. Only called for comparing
            files.
        work: Directory for layers that are inspected.

    Raises:
        UsageError: The lock does not name its image.
    """
    pinned = lock.image
    if pinned is None:
        raise UsageError(
            "the lock does not contain the digest of its image", hint="`envbuilder lock` adds it without other changes"
        )
    if subject.manifest:
        same, proof = subject.manifest == pinned.manifest, "manifest"
    else:
        same, proof = subject.config == pinned.config, "configuration, which names every layer"
    differences = () if same else tuple(_differences(pinned, subject, expected_blobs, work))
    return Verification(subject=subject, expected=pinned, same=same, proof=proof, differences=differences)


def _differences(
    pinned: ImagePin, subject: Subject, expected_blobs: Callable[[], Callable[[str], Path]], work: Path
) -> Iterator[LayerDifference]:
    blobs: Callable[[str], Path] | None = None
    for number, layer in enumerate(pinned.layers):
        if number >= len(subject.diff_ids):
            yield LayerDifference(layer=layer.id, problem="is missing")
        elif subject.diff_ids[number] != layer.diff_id:
            blobs = blobs or (expected_blobs() if subject.fetch else None)
            files = _files(layer, number, subject, blobs, work) if blobs else ()
            problem = f"its tar has the digest {subject.diff_ids[number]} instead of {layer.diff_id}"
            yield LayerDifference(layer=layer.id, problem=problem, files=files)
        elif subject.layers and subject.layers[number].digest != layer.blob.digest:
            yield LayerDifference(layer=layer.id, problem="has the same files with a different compression")
    for number in range(len(pinned.layers), len(subject.diff_ids)):
        yield LayerDifference(layer=str(number + 1), problem="is not expected")


def _files(
    layer: ImageLayerPin, number: int, subject: Subject, blobs: Callable[[str], Path], work: Path
) -> tuple[str, ...]:
    if subject.fetch is None:
        return ()
    found = work / f"layer-{number}"
    subject.fetch(number, found)
    lines: Sequence[str] = [f"/{path} {how}" for path, how in compare_layers(blobs(layer.blob.digest), found)]
    found.unlink()
    more = (f"and {len(lines) - _MOST_FILES} more",) if len(lines) > _MOST_FILES else ()
    return (*lines[:_MOST_FILES], *more)
