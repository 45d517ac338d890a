"""The lock that an image contains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from envbuilder.core.archives.tar_reader import TarReader
from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.core.files import LONGEST
from envbuilder.core.image_layout import LOCK_FILE
from envbuilder.image.builds import ImageInfo
from envbuilder.image.container_engine import EngineState
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import load
from envbuilder.oci.layout.layer_compression import unpacked
from envbuilder.oci.runtime.command import RunRequest, RunResult

LOCK_IN_IMAGE = f"/{LOCK_FILE}"


_GIVING_UP = 60.0


class ImageEngine(EngineState, Protocol):
    """The part of a container engine for looking inside an image; assembled images need no daemon."""

    def image(self, reference: str) -> ImageInfo | None:
        """Return the image with this reference or id; None if there is none."""
        ...

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in a new container, which is removed afterwards."""
        ...


def no_hook() -> UsageError:
    """Return the error for a memory policy and an image without the hook that applies it."""
    return UsageError(
        "the image does not support memory policies at run time: it was built by an older version",
        hint="run `envbuilder lock` and `envbuilder build`",
    )


def lock_inside(engine: ImageEngine, image: str) -> Lock:
    """Return the lock that an image was made from; errors as in `lock_of`."""
    return lock_of(engine.run(RunRequest(image=image, command=("/bin/cat", LOCK_IN_IMAGE), timeout=_GIVING_UP)), image)


def lock_of(shown: RunResult, place: str) -> Lock:
    """Return the lock in the output of a command.

    Raises:
        UsageError: There is none.
    """
    return lock_in(None if shown.status else shown.stdout, place)


def lock_in_layers(layers: Sequence[Callable[[Path], None]], place: str, work: Path) -> Lock:
    """Return the lock in the layers of an image; its last layers are read, down to the one that has it.

    Args:
        layers: Each writes one layer's blob into a file; lowest first.
        place: Name of the image, for errors.
        work: Directory for a layer while it is read.

    Raises:
        UsageError: There is none.
        InvalidInput: It is of another version.
        VerificationFailed: A layer is damaged.
    """
    blob = work / "layer"
    for write in reversed(layers):
        try:
            write(blob)
            content = _lock_in_blob(blob)
        finally:
            blob.unlink(missing_ok=True)
        if content is not None:
            return lock_in(content, place)
    return lock_in(None, place)


def _lock_in_blob(blob: Path) -> bytes | None:
    with unpacked(blob) as stream:
        tar = TarReader(stream, blob.name)
        for entry in tar.entries():
            if entry.path == LOCK_FILE and entry.size <= LONGEST:
                return b"".join(tar.content())
    return None


def lock_in(content: bytes | None, place: str) -> Lock:
    """Return the lock in a file of an image, by the content of that file; None if there is no file.

    Raises:
        UsageError: There is none.
        InvalidInput: It is of another version.
    """
    if content is None:
        raise UsageError(f"{place} does not contain its lock", hint="specify the lock: --lock FILE")
    try:
        return load(content.decode("utf-8", errors="replace"), f"{place}:{LOCK_IN_IMAGE}")
    except InvalidInput as error:
        error.hint = "the lock in the image is of another version; name one: --lock FILE"
        raise
