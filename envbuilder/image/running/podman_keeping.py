"""Changes of containers as images of podman."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from envbuilder.core.errors import EngineError
from envbuilder.core.json_fields import parsed, records, text
from envbuilder.image.builds import ImageInfo, image_info
from envbuilder.oci.runtime.command import RunResult

OWN_VARIABLES = frozenset({"PATH", "TERM", "HOME", "HOSTNAME", "container"})
"""Variables that podman sets itself, and writes into the images that it makes of containers."""
_RUNNING = frozenset({"running", "paused", "stopping"})


class Call(Protocol):
    """Calls podman."""

    def __call__(self, *arguments: str) -> RunResult:
        """Return its result."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PodmanKeeping:
    """See `KeepingEngine`.

    Attributes:
        ids: Id of each image that was found, by its reference.
    """

    call: Call
    ids: Mapping[str, str]

    def described(self, image: str) -> ImageInfo | None:
        """See `KeepingEngine.described`."""
        shown = self.call("image", "inspect", self.ids.get(image, image))
        if shown.status:
            return None
        return image_info(next(iter(records(parsed(shown.stdout))), {}))

    def is_running(self, container: str) -> bool | None:
        """See `KeepingEngine.is_running`."""
        shown = self.call("container", "inspect", container)
        if shown.status:
            return None
        found = next(iter(records(parsed(shown.stdout))), {})
        return text(found, "State", "Status") in _RUNNING

    def save(self, container: str, image: str, hidden: Sequence[str]) -> None:
        """See `KeepingEngine.save`."""
        self._done("stop", "--time", "0", container)
        if self._done("diff", container).stdout.strip():
            before = self.described(image)
            changes = [word for name in hidden if name not in OWN_VARIABLES for word in ("--change", f"ENV {name}=")]
            self._done("commit", "--quiet", *changes, container, image)
            self._done("rm", container)
            if before:
                # Without a name, and below no other image for podman, it would stay.
                self._done("image", "rm", before.id)
        else:
            self._done("rm", container)

    def forget(self, container: str, image: str) -> None:
        """Remove a container and an image, as far as they exist."""
        if self.is_running(container) is not None:
            self._done("rm", "--force", container)
        if self.described(image):
            self._done("image", "rm", image)

    def _done(self, *arguments: str) -> RunResult:
        """Call podman for something that has to succeed."""
        result = self.call(*arguments)
        if result.status:
            raise EngineError(f"podman {arguments[0]} failed: {last_line(result)}")
        return result


def last_line(result: RunResult) -> str:
    """Return what a program printed last."""
    return (result.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
