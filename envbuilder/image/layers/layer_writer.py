"""Writer of layers: one pass that packs, digests the blob and digests the tar inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.compression import CompressingSink, Digesting, Sink, SplicingSink, Watcher
from envbuilder.image.layers.compressors import GzipCompressor, NoCompressor, zstd_compressor
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.estargz import NOTHING, EstargzSink, Prefetch, with_landmark
from envbuilder.image.layers.zlib_library import Compressor, Deflate, host_deflate
from envbuilder.oci.images import Descriptor, LayerFormat
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import of_tar


class Packing(Enum):
    """The packing of a layer in the format `gzip-spliced`.

    `spliced`: contents as packed in wheels, all else stored, so that no library affects a byte. `mixed`: all else
    compressed. `compressed`: the whole tar by zlib, for layers without wheels.
    """

    SPLICED = "spliced"
    MIXED = "mixed"
    COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A layer that was written.

    Attributes:
        digest: `sha256:…` of the blob.
        size: Its bytes.
        diff_id: `sha256:…` of its tar.
        contents: `sha256:…` of its table of contents; empty if the format has none.
    """

    digest: str
    size: int
    diff_id: str
    contents: str = ""

    def blob(self, layer_format: LayerFormat) -> Descriptor:
        """Return its descriptor."""
        return Descriptor(media_type=layer_format.media_type, digest=self.digest, size=self.size)


def write_layer(  # noqa: PLR0913  each is a parameter of one pass
    entries: Iterable[Entry],
    store: Store,
    layer_format: LayerFormat = LayerFormat.GZIP_SPLICED,
    *,
    packing: Packing = Packing.SPLICED,
    prefetch: Prefetch = NOTHING,
    expected: Packed | None = None,
    watcher: Watcher = lambda _entry: None,
    deflate: Callable[[], Deflate] = host_deflate,
) -> Packed:
    """Write a layer into the store.

    Args:
        entries: In the order of the layer: sorted, directories first; no path twice.
        store: Receives the blob.
        layer_format: Format of the blob.
        packing: Packing within the format `gzip-spliced`.
        prefetch: What is fetched before a container starts; for the format `estargz`.
        expected: The expected result. Spliced contents are then not unpacked, which is most of the work: the digest of
            the blob proves them.
        watcher: Returns a callback for the content of a spliced entry, or None.
        deflate: Returns the zlib; only called if it affects bytes.

    Raises:
        VerificationFailed: The result differs from the expected one, or a wheel is damaged.
        DiskFull: There is no room.
        ToolFailed: No zlib with the pinned bytes is available.
        ToolMissing: zstd is not installed.
    """
    splices = layer_format is LayerFormat.GZIP_SPLICED and packing is not Packing.COMPRESSED
    tar = Digesting(silent=splices and expected is not None)
    with store.writing() as blob:
        is_lazy = layer_format is LayerFormat.ESTARGZ
        sink = _sink(layer_format, blob.write, tar, packing, deflate)
        contents = sink.write(with_landmark(entries, prefetch) if is_lazy else entries, watcher)
        diff_id = expected.diff_id if tar.silent and expected else tar.digest
        done = Packed(digest=blob.digest, size=blob.size, diff_id=diff_id, contents=contents)
        _compare(done, expected)
    return done


def write_tar(  # noqa: PLR0913  as above
    tar_file: Path,
    store: Store,
    layer_format: LayerFormat,
    *,
    prefetch: Prefetch = NOTHING,
    expected: Packed | None = None,
    deflate: Callable[[], Deflate] = host_deflate,
) -> Packed:
    """Write a tar as a layer; errors as in `write_layer`.

    The digest of the tar is the diff id, except in the format `estargz`, which adds files.
    """
    if layer_format is LayerFormat.ESTARGZ:
        entries = (Entry(member=member) for member in of_tar(tar_file))
        return write_layer(entries, store, layer_format, prefetch=prefetch, expected=expected, deflate=deflate)
    with store.writing() as blob:
        tar = Digesting()
        with tar_file.open("rb") as stream:
            sink = CompressingSink(blob.write, tar, _compressor(layer_format, deflate))
            sink.copy(stream, tar_file.stat().st_size)
        done = Packed(digest=blob.digest, size=blob.size, diff_id=tar.digest)
        _compare(done, expected)
    return done


def _compare(done: Packed, expected: Packed | None) -> None:
    if expected and done != expected:
        raise VerificationFailed(
            f"the layer has the digest {done.digest}, and its tar {done.diff_id}; the lock has {expected.digest} "
            f"and {expected.diff_id}",
            hint="the lock was created by another version of envbuilder or edited: run `envbuilder lock`",
        )


def _sink(
    layer_format: LayerFormat,
    write: Callable[[bytes], object],
    tar: Digesting,
    packing: Packing,
    deflate: Callable[[], Deflate],
) -> Sink:
    if layer_format is LayerFormat.ESTARGZ:
        return EstargzSink(write, tar, deflate())
    if layer_format is LayerFormat.GZIP_SPLICED and packing is not Packing.COMPRESSED:
        return SplicingSink(write, tar, deflate() if packing is Packing.MIXED else None)
    return CompressingSink(write, tar, _compressor(layer_format, deflate))


def _compressor(layer_format: LayerFormat, deflate: Callable[[], Deflate]) -> Compressor:
    match layer_format:
        case LayerFormat.TAR:
            return NoCompressor()
        case LayerFormat.ZSTD:
            return zstd_compressor()[0]
        case LayerFormat.GZIP_SPLICED | LayerFormat.ESTARGZ:
            return GzipCompressor(deflate())
