"""One build from context to tagged image, by BuildKit or the classic builder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from envbuilder.core.errors import EngineError, EngineLost, EnvbuilderError
from envbuilder.core.json_fields import Record, text
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import Builder, BuildEvent, BuildRequest, BuildResult, StepOutput, image_info
from envbuilder.image.container_engine import Listener
from envbuilder.image.docker.build_failures import explain
from envbuilder.image.docker.build_journal import BuildJournal
from envbuilder.image.docker.buildkit_trace import TraceReader
from envbuilder.image.docker.classic_stream import ClassicReader
from envbuilder.image.docker.context_tar import context
from envbuilder.image.docker.images import failure, image_layers
from envbuilder.image.docker.protobuf_wire import MalformedMessage

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi

_DOCKERFILES = {Builder.BUILDKIT: "Dockerfile", Builder.CLASSIC: "Dockerfile.classic"}
_API_VERSIONS = {Builder.BUILDKIT: "2", Builder.CLASSIC: "1"}


def _traced(reader: TraceReader, message: Record) -> Iterator[BuildEvent]:
    """Yield the events of BuildKit's trace among its messages."""
    if text(message, "id") != "moby.buildkit.trace":
        return
    try:
        yield from reader.feed(text(message, "aux"))
    except MalformedMessage as error:
        # Progress is only displayed: a malformed message is reported, but does not stop the build.
        yield StepOutput(step="", text=f"(a progress message of the engine cannot be read: {error})")


class _Progress:
    """Converts each message to events, and records the data of the result."""

    def __init__(self, read: Callable[[Record], Iterator[BuildEvent]], listener: Listener) -> None:
        self.journal = BuildJournal()
        self.image_id = ""
        self.error = ""
        self._read = read
        self._listener = listener

    def take(self, message: Record) -> None:
        self.hand_on(self._read(message))
        self.image_id = text(message, "aux", "ID") or self.image_id
        self.error = failure(message) or self.error

    def hand_on(self, events: Iterator[BuildEvent]) -> None:
        for event in events:
            self.journal.note(event)
            self._listener(event)


def build(
    api: DockerApi, request: BuildRequest, listener: Listener, *, clock: Callable[[], float], build_id: str
) -> BuildResult:
    """Build a directory.

    Tags are given here and not by the engine (its parameter `t`): an interrupted or failed build thus leaves none.

    Args:
        api: The engine.
        request: The request.
        listener: Receives all events; an exception from it cancels the build.
        clock: Seconds; only differences count.
        build_id: Id of this build within the engine, used to cancel it.
    """
    began = clock()
    names = tuple(ImageRef.parse(tag) for tag in request.tags)
    classic = ClassicReader(clock)
    read = partial(_traced, TraceReader()) if request.builder is Builder.BUILDKIT else classic.feed
    progress = _Progress(read, listener)
    _follow(api, request, progress, build_id)
    progress.hand_on(classic.finish())
    _judge(progress)
    _give_names(api, progress.image_id, names)
    image = api.inspect_image(progress.image_id)
    if image is None:
        raise EngineError(
            f"the image {progress.image_id} disappeared right after its build", hint="run the command again"
        )
    return BuildResult(
        image=image_info(image),
        layers=image_layers(api.history(progress.image_id)),
        steps=progress.journal.steps(),
        builder=request.builder,
        seconds=clock() - began,
    )


def _follow(api: DockerApi, request: BuildRequest, progress: _Progress, build_id: str) -> None:
    stream = context(request.folder, _DOCKERFILES[request.builder])
    try:
        api.build(stream, _query(request, build_id), explain, progress.take)
    except EnvbuilderError:
        raise
    except BaseException:
        # Closing the connection stops either builder; the request also works behind a proxy that keeps it open.
        with suppress(EnvbuilderError):
            api.cancel_build(build_id)
        raise


def _query(request: BuildRequest, build_id: str) -> dict[str, object]:
    return {
        "version": _API_VERSIONS[request.builder],
        "dockerfile": _DOCKERFILES[request.builder],
        "buildargs": json.dumps(dict(request.args), sort_keys=True),
        "networkmode": "host",
        "nocache": "0" if request.use_cache else "1",
        "buildid": build_id,
        # The classic builder's intermediate containers: removed even if their step fails.
        "rm": "1",
        "forcerm": "1",
    }


def _judge(progress: _Progress) -> None:
    journal = progress.journal
    if progress.error:
        raise explain(progress.error, step=journal.failed_step, output=journal.tail(journal.failed_step))
    if not progress.image_id:
        raise EngineLost(
            "the engine stopped in the middle of the build",
            hint="check the log of the engine, then run the command again",
        )


def _give_names(api: DockerApi, image_id: str, names: tuple[ImageRef, ...]) -> None:
    """Add all names or, if interrupted, none."""
    given: list[tuple[ImageRef, Record | None]] = []
    try:
        for name in names:
            given.append((name, api.inspect_image(str(name))))
            api.tag(image_id, name)
    except BaseException:
        for name, before in given:
            _restore(api, name, before)
        raise


def _restore(api: DockerApi, name: ImageRef, before: Record | None) -> None:
    with suppress(EnvbuilderError):
        if before is None:
            api.untag(str(name))
        else:
            api.tag(text(before, "Id"), name)
