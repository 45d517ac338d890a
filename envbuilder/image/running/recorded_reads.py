"""Files of an image that a command opens, as the list of those that are fetched first when the image starts lazily."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.files import write_text
from envbuilder.core.image_paths import absolute_path
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.layers.estargz import LARGEST_CHUNK
from envbuilder.image.plan.plan import LayerKind
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lock import PrioritizedFiles
from envbuilder.lock.prioritized_files import dump_prioritized
from envbuilder.oci.layout.merge import Tree, merged
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult
from envbuilder.oci.tar.members import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRunner:
    """A runner that writes the files that a followed command opens.

    Attributes:
        file: Receives the list; replaced.
        progress: Progress callback; receives one line of text.
    """

    runner: ImageRunner
    file: Path
    progress: Callable[[str], None]

    def info(self) -> EngineInfo:
        """See `ImageRunner.info`."""
        return self.runner.info()

    def image(self, reference: str) -> ImageInfo | None:
        """See `ImageRunner.image`."""
        return self.runner.image(reference)

    def run(self, request: RunRequest) -> RunResult:
        """See `ImageRunner.run`."""
        return self.runner.run(request)

    def follow(self, request: RunRequest, console: Console) -> int:
        """Run a command to its end, and write what it opened; errors as in `ImageRunner.follow`.

        Raises:
            UsageError: The sandbox of this machine does not report what a command opens.
            ToolFailed: The kernel lost reports.
        """
        opened = set[str]()
        status = self.runner.follow(request, console, opened.add)
        files = prioritized(opened, merged(self.runner.found(request), self.runner.store))
        write_text(self.file, dump_prioritized(files))
        number = sum(len(paths) for _, paths in files)
        self.progress(f"wrote {number} files of {len(files)} layers to {self.file}, for `prioritized_files:` of a spec")
        return status


def prioritized(opened: Collection[str], tree: Tree) -> PrioritizedFiles:
    """Return the opened files that are worth fetching first.

    Left out are empty files; those above `LARGEST_CHUNK`, of which a program reads parts; those of layers that are
    fetched as a whole without a list; and those of layers of a base from a registry, whose order is fixed.
    """
    found = {
        layer.id: sorted(
            f"/{member.path}"
            for members in files.values()
            for member in members
            if f"/{member.path}" in opened and _is_worth_fetching(member)
        )
        for layer, files in zip(tree.layers, tree.files, strict=True)
        if _has_an_order(layer.id)
    }
    return tuple((layer, tuple(paths)) for layer, paths in sorted(found.items()) if paths)


def _has_an_order(layer: str) -> bool:
    kind, dot, _ = layer.partition(".")
    is_of_registry = kind == LayerKind.BASE and bool(dot)
    return not is_of_registry and not LayerKind(kind).is_prefetched


def _is_worth_fetching(member: Member) -> bool:
    try:
        absolute_path(f"/{member.path}")
    except ValueError:
        return False  # A list cannot hold its name.
    return 0 < member.size <= LARGEST_CHUNK
