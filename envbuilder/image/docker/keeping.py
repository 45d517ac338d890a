"""Changes of containers as images of the Docker engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING

from envbuilder.core.json_fields import text
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import ImageInfo, image_info

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi

_SECONDS_TO_DIE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerKeeping:
    """See `KeepingEngine`."""

    api: DockerApi

    def described(self, image: str) -> ImageInfo | None:
        """See `KeepingEngine.described`."""
        found = self.api.inspect_image(image)
        return None if found is None else image_info(found)

    def is_running(self, container: str) -> bool | None:
        """See `KeepingEngine.is_running`."""
        found = self.api.find_container(container)
        return None if found is None else text(found, "State", "Status") in {"running", "paused", "restarting"}

    def save(self, container: str, image: str, hidden: Sequence[str]) -> None:
        """See `KeepingEngine.save`."""
        self.api.send_signal(container, SIGKILL)
        self.api.wait(container, _SECONDS_TO_DIE)
        if self.api.is_changed(container):
            self.api.commit(container, ImageRef.parse(image), hidden)
        self.api.remove(container)

    def forget(self, container: str, image: str) -> None:
        """Remove a container and an image, as far as they exist."""
        self.api.remove(container)
        self.api.delete_image(image)
