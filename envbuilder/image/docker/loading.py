"""Loading of an assembled image into the engine: one generated tar with only the layers that the engine lacks.

The engine finds a layer that is not in the tar by the digests of all tars up to it, so its layers must be the lowest
layers of one of its images. Tested with 20.10.24 (overlay2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from envbuilder.core.errors import DiskFull, EngineError, EngineLost, EngineUnavailable, VerificationFailed
from envbuilder.core.json_fields import Record, number, parsed, record, text, texts
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import ImageInfo, LoadResult, image_info
from envbuilder.image.docker.images import failure
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.archive import archive_members
from envbuilder.oci.layout.contents import verified
from envbuilder.oci.store import Store
from envbuilder.oci.tar.writing import tar_blocks

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi

_OURS = ("io.envbuilder.environment", "io.envbuilder.base")
_OUR_BASES = "envbuilder/base:"
_LOOK_AT = 48
_NO_SPACE = "no space left on device"
_HOPELESS = (EngineUnavailable, EngineLost, DiskFull)


def load_image(api: DockerApi, image: AssembledImage, store: Store, tags: tuple[str, ...]) -> LoadResult:
    """See `ContainerEngine.load_image`."""
    references = [ImageRef.parse(tag) for tag in tags]
    present = len(image.layers) if _there(api, image) else _send_missing(api, image, store)
    found = _checked(api, image)
    for reference in references:
        api.tag(found.id, reference)
    sent = image.layers[present:]
    return LoadResult(
        image=_checked(api, image),
        sent_bytes=sum(layer.blob.size for layer in sent),
        sent_layers=len(sent),
        present_layers=present,
    )


def _there(api: DockerApi, image: AssembledImage) -> ImageInfo | None:
    """Return the loaded image: by its configuration's digest, or its manifest's with the containerd store."""
    for digest in (image.config.descriptor.digest, image.manifest.descriptor.digest):
        found = api.inspect_image(digest)
        if found is not None and texts(found, "RootFS", "Layers") == tuple(layer.diff_id for layer in image.layers):
            return image_info(found)
    return None


def _checked(api: DockerApi, image: AssembledImage) -> ImageInfo:
    found = _there(api, image)
    if found is None or found.id not in {image.config.descriptor.digest, image.manifest.descriptor.digest}:
        raise VerificationFailed(
            f"the engine loaded an image other than {image.config.descriptor.digest}",
            hint="use Docker 20.10 or later",
        )
    return found


def _send_missing(api: DockerApi, image: AssembledImage, store: Store) -> int:
    """Send the layers that the engine lacks; return the number of those it had.

    If the engine refuses that, a layer was removed meanwhile, or it knows its layers by other digests (the
    containerd store uses those of packed layers): then everything is sent once.
    """
    present = _present_layers(api, image)
    try:
        _send(api, image, store, present)
    except _HOPELESS:
        raise
    except EngineError:
        if not present:
            raise
        present = 0
        _send(api, image, store, present)
    return present


def _send(api: DockerApi, image: AssembledImage, store: Store, present: int) -> None:
    missing = {layer.blob.digest: layer.blob for layer in image.layers[present:]}
    files = [(blob, verified(blob, store)) for blob in missing.values()]
    # Names are added after the image was verified.
    for message in api.load(tar_blocks(archive_members(replace(image, attached=()), files))):
        error = failure(message)
        if error and _NO_SPACE in error:
            raise DiskFull(f"no space for the image: {error}", hint="check `docker system df`")
        if error:
            raise EngineError(f"the engine cannot load the image: {error}")


def _present_layers(api: DockerApi, image: AssembledImage) -> int:
    """Return the number of lowest layers that are also the lowest of some image of the engine."""
    wanted = tuple(layer.diff_id for layer in image.layers)
    best = 0
    environment = text(parsed(image.config.content), "config", "Labels", _OURS[0])
    for known in _candidates(api.images(), environment):
        found = api.inspect_image(known)
        if found is not None:
            pairs = zip(wanted, texts(found, "RootFS", "Layers"), strict=False)
            best = max(best, len([*takewhile(lambda pair: pair[0] == pair[1], pairs)]))
        if best == len(wanted):
            break
    return best


def _candidates(images: Sequence[Record], environment: str) -> list[str]:
    """Return the ids of images to compare: of the same environment first, then ours, then others, newest first."""

    def rank(image: Record) -> tuple[int, int]:
        labels = record(image, "Labels")
        same = bool(environment) and text(labels, _OURS[0]) == environment
        ours = any(name in labels for name in _OURS)
        base = any(tag.startswith(_OUR_BASES) for tag in texts(image, "RepoTags"))
        return (0 if same else 1 if ours or base else 2), -number(image, "Created")

    return [text(image, "Id") for image in sorted(images, key=rank)][:_LOOK_AT]
