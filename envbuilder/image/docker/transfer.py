"""Transfer of images between the engine, registries and archives."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from envbuilder.core.digests import is_digest
from envbuilder.core.errors import DiskFull, EngineError, EngineLost, EnvbuilderError, SourceUnreachable, UsageError
from envbuilder.core.json_fields import Record, number, record, text
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import ImageInfo, image_info
from envbuilder.image.container_engine import Listener
from envbuilder.image.docker.images import failure
from envbuilder.oci.transfers import PushResult, Transfer

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi

_LOADED = re.compile(r"Loaded image(?: ID)?: (\S+)")
_PRESENT = ("Layer already exists", "Mounted from")
_NOT_HERE = re.compile(r"does not exist locally|tag does not exist|no such image", re.IGNORECASE)
_NO_SPACE = "no space left on device"


def registry_digest(api: DockerApi, reference: ImageRef) -> str:
    """Return the manifest digest that the registry has for a reference."""
    digest = text(
        api.distribution(str(reference), lambda reason: _unreachable(reference, reason)), "Descriptor", "digest"
    )
    if not is_digest(digest):
        raise _unreachable(reference, f"the registry returned {digest!r} instead of a digest")
    return digest


def pull(api: DockerApi, reference: ImageRef, listener: Listener) -> ImageInfo:
    """Pull an image and return its description."""
    for message in api.pull(reference, lambda reason: _unreachable(reference, reason)):
        if failure(message):
            raise _unreachable(reference, failure(message))
        _report(message, listener)
    # A reference by digest is found without its tag only: the engine stores no tag for it.
    name = ImageRef(
        repository=reference.repository, tag="" if reference.digest else reference.tag, digest=reference.digest
    )
    return _present(api, str(name))


def save(api: DockerApi, reference: str, archive: Path) -> None:
    """Write an image into an archive."""
    try:
        with archive.open("wb") as copy:
            for piece in api.save(reference):
                copy.write(piece)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise DiskFull(f"no room for {archive}", hint="free some space: `envbuilder cache prune`") from error


def load(api: DockerApi, archive: Path) -> ImageInfo:
    """Load the one image of a `docker save` archive.

    Raises:
        UsageError: The file does not exist, or holds no image or several.
    """
    if not archive.is_file():
        raise UsageError(f"archive not found: {archive}")
    names: list[str] = []
    with archive.open("rb") as stream:
        for message in api.load(stream):
            if failure(message):
                raise EngineError(f"the engine cannot load {archive}: {failure(message)}")
            names += _LOADED.findall(text(message, "stream"))
    images = {image.id: image for image in (_present(api, name) for name in names)}
    if len(images) != 1:
        raise UsageError(f"{archive} holds {len(images)} images", hint="save one image with `docker save IMAGE`")
    return images.popitem()[1]


@dataclass(slots=True, kw_only=True)
class _Ledger:
    """The messages of a push, summed up."""

    digest: str = ""
    sent: dict[str, int] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)

    def note(self, message: Record) -> None:
        layer, status = text(message, "id"), text(message, "status")
        if status.startswith(_PRESENT):
            self.present.add(layer)
        elif status in {"Pushing", "Pushed"}:
            # The last count before "Pushed" can exceed the announced total, as it includes the tar around the files.
            self.sent[layer] = max(self.sent.get(layer, 0), number(message, "progressDetail", "current"))
        self.digest = text(record(message, "aux"), "Digest") or self.digest


def push(api: DockerApi, reference: ImageRef, listener: Listener, clock: Callable[[], float]) -> PushResult:
    """Push an image and count the bytes that were sent."""
    began = clock()
    ledger = _Ledger()
    for message in api.push(reference, lambda reason: _unsent(reference, reason)):
        if failure(message):
            raise _unsent(reference, failure(message))
        ledger.note(message)
        _report(message, listener)
    if not ledger.digest:
        raise EngineLost(f"the engine stopped in the middle of the push of {reference}", hint="run the command again")
    return PushResult(
        reference=str(reference),
        digest=ledger.digest,
        pushed_bytes=sum(ledger.sent.values()),
        pushed_layers=len(ledger.sent),
        present_layers=len(ledger.present),
        seconds=clock() - began,
    )


def _report(message: Record, listener: Listener) -> None:
    current = number(message, "progressDetail", "current")
    if current:
        item = f"{text(message, 'status')} {text(message, 'id')}"
        listener(Transfer(item=item, current=current, total=number(message, "progressDetail", "total")))


def _present(api: DockerApi, name: str) -> ImageInfo:
    found = api.inspect_image(name)
    if found is None:
        raise EngineError(
            f"the engine reported {name} as loaded, but does not have it", hint="check the log of the engine"
        )
    return image_info(found)


def _unreachable(reference: ImageRef, reason: str) -> EnvbuilderError:
    if _NO_SPACE in reason:
        return DiskFull(f"no space for {reference}: {reason}", hint="check `docker system df`")
    return SourceUnreachable(
        f"{reference} is not available from its registry: {reason}",
        hint="name a mirror of the registry, log in with `docker login`, or see `envbuilder base bootstrap`",
    )


def _unsent(reference: ImageRef, reason: str) -> EnvbuilderError:
    if _NOT_HERE.search(reason):
        return EngineError(f"the engine has no image {reference}: {reason}", hint="build it with this tag first")
    if _NO_SPACE in reason:
        return DiskFull(f"no space while {reference} was pushed: {reason}", hint="check `docker system df`")
    return SourceUnreachable(
        f"the registry of {reference} refused it: {reason}",
        hint="check that the registry is reachable, and log in with `docker login`",
    )
