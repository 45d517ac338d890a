"""`envbuilder build --on`: one build for each environment or lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envbuilder.cli.fan_out import refuse_with_on, sent_arguments
from envbuilder.cluster.execution.executor import WorkItem
from envbuilder.cluster.execution.targets import ExecutionTarget, LocalProcesses
from envbuilder.core.errors import UsageError
from envbuilder.image.builder import BuildOptions
from envbuilder.lock.lockfile import LOCK, read_lock
from envbuilder.wiring.execution import files_for, work_item
from envbuilder.wiring.image_requests import Selection, refuse_shared_names
from envbuilder.wiring.settings import Settings


def build_items(
    here: Settings, names: Sequence[str | None], selection: Selection, options: BuildOptions, on: ExecutionTarget
) -> tuple[WorkItem, ...]:
    """Return one build for each environment or lock.

    Raises:
        UsageError: The images would stay on the workers; or they would have the same name.
    """
    one = "build these images one at a time, without --on"
    attached = "omit it: --push attaches them to each image"
    refuse_with_on(output=one, load=one, bundle=one, key=one, attestations=attached)
    if not isinstance(on, LocalProcesses) and not (options.push or options.cache_to):
        raise UsageError(
            "the images would stay on the machines of the cluster",
            hint="add --push --tag REGISTRY/{name}:TAG, or --cache-to REGISTRY/REPOSITORY",
        )
    paths = {name: Path(name).absolute() for name in (each or str(LOCK) for each in names)}
    locks = {name: read_lock(path) for name, path in paths.items() if path.is_file()}
    images = [locks[name].name or locks[name].environment if name in locks else name for name in paths]
    refuse_shared_names(images, selection.tags)
    sent = [str(path) if name in locks else name for name, path in paths.items()]
    return tuple(work_item(here, name, sent_arguments(name), files_for(here, name)) for name in sent)
