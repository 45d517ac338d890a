"""Changes that commands make in images of a container engine: kept as another image of that engine.

An engine has the changes of a container in a layer. After the command, this layer becomes an image, from which the next
run starts. Only its files count: variables, user and working directory are those of the image that was named.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from envbuilder.core.errors import EngineError, UsageError
from envbuilder.image.builds import ImageInfo
from envbuilder.image.running.changes import KeptChanges, claimed, recorded, without_changes
from envbuilder.oci.runtime.command import RunRequest

REPOSITORY = "envbuilder-kept"


class KeepingEngine(Protocol):
    """The containers and images of an engine, as far as keeping changes needs them."""

    def described(self, image: str) -> ImageInfo | None:
        """Return an image; None if there is none."""
        ...

    def is_running(self, container: str) -> bool | None:
        """Return True if a container is running; None if there is none."""
        ...

    def save(self, container: str, image: str, hidden: Sequence[str]) -> None:
        """End a container and remove it; if it has changes, make an image of them first.

        Args:
            container: Its name.
            image: Name of the image; another image loses it.
            hidden: Variables of the container whose values, which may be secret, the image does not get.
        """
        ...


Start: TypeAlias = Callable[[RunRequest, str, Path], int]
"""Follows a request in a container with a name, without removing it; the directory is for files of further runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptImages:
    """Changes that an engine keeps.

    Attributes:
        most_layers: Layers with which the engine still makes another one.
        room: Returns the directory of the cache for records of kept changes.
    """

    engine: str
    most_layers: int
    room: Callable[[], Path]

    def follow(self, keeping: KeepingEngine, request: RunRequest, start: Start) -> int:
        """Run a command in the image with the changes of earlier runs, and keep those that it makes.

        Changes of a run that was killed together with this program are still in its container, and are kept first.

        Raises:
            UsageError: They are to be kept in a directory; or the name belongs to another image or is in use.
            EngineError: There is no such image; or the one with the changes was removed.
        """
        self._refuse_directory(request.keep)
        original = keeping.described(request.image)
        if original is None:
            raise EngineError(f"image not found: {request.image}", hint="build it with `envbuilder build ENV`")
        folder = self.room() / request.keep
        with claimed(folder) as before:
            kept = before or self._new(folder, request.image, original.id)
            kept.refuse_other(original.id, self.engine)
            container = container_of(kept)
            self._recover(keeping, kept, container, original)
            current = keeping.described(kept.reference)
            if kept.is_saved and current is None:
                raise EngineError(
                    f"the changes kept as {request.keep} are gone: {self.engine} has no image {kept.reference}",
                    hint=f"start again without them: `envbuilder cache remove {request.keep}`",
                )
            self._refuse_too_many(kept, current)
            recorded(kept)
            asked = _asked(request, original, current, kept.reference)
            try:
                return start(asked, container, folder)
            finally:
                self._save(keeping, kept, container, sorted({*dict(asked.env), *asked.unset}), original)

    def _refuse_directory(self, keep: str) -> None:
        if "/" in keep:
            raise UsageError(
                f"{self.engine} keeps changes of an image under a name, not in the directory {keep}",
                hint="use --keep NAME; in a directory: an assembled image, --engine assemble",
            )

    def _refuse_too_many(self, kept: KeptChanges, current: ImageInfo | None) -> None:
        if current and len(current.diff_ids) > self.most_layers:
            raise UsageError(
                f"{kept.folder.name} has changes of too many runs: each is a layer, and {self.engine} has a limit",
                hint=f"list packages in envbuilder.yaml, copy other files from the image {kept.reference}, then "
                f"`envbuilder cache remove {kept.folder.name}`",
            )

    def _new(self, folder: Path, image: str, digest: str) -> KeptChanges:
        # Users of one engine may choose the same name.
        tag = f"{folder.name[:100]}-{secrets.token_hex(4)}"
        return KeptChanges(
            folder=folder, image=image, digest=digest, engine=self.engine, reference=f"{REPOSITORY}:{tag}", bytes=0
        )

    def _recover(self, keeping: KeepingEngine, kept: KeptChanges, container: str, original: ImageInfo) -> None:
        running = keeping.is_running(container)
        if running:
            raise UsageError(
                f"a command that uses {kept.folder.name} is still running, in the container {container}",
                hint=f"`{self.engine} stop {container}`, or use another --keep",
            )
        if running is not None:
            self._save(keeping, kept, container, (), original)

    def _save(
        self, keeping: KeepingEngine, kept: KeptChanges, container: str, hidden: Sequence[str], original: ImageInfo
    ) -> None:
        if keeping.is_running(container) is not None:
            keeping.save(container, kept.reference, hidden)
        made = keeping.described(kept.reference)
        if made is None:
            without_changes(kept.folder)
        else:
            recorded(replace(kept, is_saved=True, bytes=max(0, made.size - original.size)))


def container_of(kept: KeptChanges) -> str:
    """Return the name of the container of a run, by which a later run finds it."""
    return kept.reference.replace(":", "-")


def _asked(request: RunRequest, original: ImageInfo, current: ImageInfo | None, reference: str) -> RunRequest:
    """Return a request with the settings of the original image, to be run in the image with its changes."""
    own, there = dict(original.env), dict((current or original).env)
    given = {name: value for name, value in own.items() if there.get(name) != value} | dict(request.env)
    return replace(
        request,
        image=reference if current else request.image,
        env=tuple(sorted(given.items())),
        user=request.user or original.user or "0",
        folder=request.folder or original.folder or "/",
        unset=tuple(sorted(there.keys() - own.keys() - given.keys())),
        keep="",
    )
