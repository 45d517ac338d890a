"""The registered runtimes of nodes, the selection of what runs an image, and the changes that they keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from envbuilder.core.cache_directories import KEPT
from envbuilder.core.errors import UsageError
from envbuilder.image.builder import Engine
from envbuilder.image.docker.engine import connect
from envbuilder.image.run import FollowingEngine
from envbuilder.image.running.apptainer import PROGRAMS, ApptainerRunner
from envbuilder.image.running.changes import KeptChanges, remove_kept
from envbuilder.image.running.kept_images import container_of
from envbuilder.image.running.node_runtimes import SQUASHES, NodeRuntime, find_program
from envbuilder.image.running.podman import PodmanRunner
from envbuilder.image.running.recorded_reads import RecordingRunner
from envbuilder.wiring.build_inputs import image_runner
from envbuilder.wiring.engines import path_or_reference, reference_of, runner_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings


def podman(settings: Settings) -> PodmanRunner:
    """Return the runner of podman.

    Raises:
        ToolMissing: It is not installed.
    """
    program = find_program(("podman",), settings.environ)
    return PodmanRunner(program=program, work=settings.use("work"), kept=lambda: settings.use(KEPT))


NODE_RUNTIMES: Mapping[NodeRuntime, Callable[[Session], FollowingEngine]] = {
    NodeRuntime.APPTAINER: lambda session: ApptainerRunner(
        program=find_program(PROGRAMS, session.settings.environ), work=session.settings.use("work")
    ),
    NodeRuntime.PODMAN: lambda session: podman(session.settings),
}


def recording_runner(
    session: Session, image: str, engine: Engine, runtime: NodeRuntime | None, file: Path
) -> tuple[str, FollowingEngine]:
    """Return the reference of an image and what runs it and writes the files that its command opens.

    Raises:
        UsageError: Another engine or a runtime is named, or the list cannot be written.
    """
    if runtime is not None or engine is Engine.DOCKER:
        raise UsageError(
            f"{runtime or engine} does not report which files a command opens",
            hint=f"use an assembled image: envbuilder run --engine assemble --record-reads {file} IMAGE -- COMMAND",
        )
    if not file.parent.is_dir():
        raise UsageError(f"--record-reads {file}: the directory {file.parent} does not exist", hint="create it first")
    runner = RecordingRunner(runner=image_runner(session), file=file, progress=session.progress)
    return reference_of(session, image, Engine.ASSEMBLE), runner


def chosen_runner(
    session: Session, image: str, engine: Engine, runtime: NodeRuntime | None
) -> tuple[str, FollowingEngine]:
    """Return the reference of an image and what runs it.

    Without a named runtime, Apptainer runs its files, and the engine all other images.

    Raises:
        UsageError: Engine and runtime are named.
        ToolMissing: The runtime is not installed.
    """
    if runtime is None and image.endswith(SQUASHES) and Path(image).is_file():
        runtime = NodeRuntime.APPTAINER
    if runtime is None:
        reference = reference_of(session, image, engine)
        return reference, runner_of(session, reference, engine)
    if engine is not Engine.AUTO:
        raise UsageError(
            f"--engine {engine} cannot be combined with {runtime}: engines have images of their own",
            hint="omit --engine",
        )
    runner = NODE_RUNTIMES[runtime](session)
    return path_or_reference(session, image, engine), runner


def remove_changes(settings: Settings, name: str) -> int:
    """Remove changes that are kept under a name; return the bytes freed.

    Raises:
        UsageError: There are none of this name, or a run uses them.
        EngineUnavailable, ToolMissing: The engine that has them does not answer.
    """

    def forget(kept: KeptChanges) -> None:
        engine = podman(settings) if kept.engine == "podman" else connect(settings.environ)
        engine.forget(container_of(kept), kept.reference)

    return remove_kept(settings.cache / KEPT, name, forget)
