"""BuildKit's progress messages (`moby.buildkit.trace`) as build events.

Source: message StatusResponse, the same from Engine 18.09 to 28.5,
https://github.com/moby/buildkit/blob/master/api/services/control/control.proto
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.log_text import LineSplitter
from envbuilder.image.docker.protobuf_wire import Field, MalformedMessage, fields
from envbuilder.oci.transfers import Transfer

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """State of one step at one moment; the engine repeats it whenever it changes.

    Attributes:
        digest: Identifies the step within a build.
        name: Display name, such as `[2/3] RUN make`.
        cached: True if the engine took it from its cache.
        started: Nanoseconds since 1970; None before it began.
        completed: Likewise; None while it runs.
        error: Error message; empty if there is none.
    """

    digest: str = ""
    name: str = ""
    cached: bool = False
    started: int | None = None
    completed: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexStatus:
    """Progress of a transfer within a step, in bytes."""

    id: str = ""
    name: str = ""
    current: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexLog:
    """A piece of the output of a step; it need not end at a line end.

    Attributes:
        vertex: Digest of the step.
        stream: 1 for standard output, 2 for standard error.
        message: As written by the program.
    """

    vertex: str = ""
    stream: int = 0
    message: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusResponse:
    """One progress message; each part in the engine's order."""

    vertexes: tuple[Vertex, ...]
    statuses: tuple[VertexStatus, ...]
    logs: tuple[VertexLog, ...]


def decode(aux: str) -> StatusResponse:
    """Read the `aux` text of one trace message.

    Raises:
        MalformedMessage: It is not base64, or not a protobuf message.
    """
    try:
        message = base64.b64decode(aux, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedMessage(f"the message is not base64: {error}") from error
    found = tuple(fields(message))
    return StatusResponse(
        vertexes=tuple(_vertex(field) for field in found if field.number == 1),
        statuses=tuple(_status(field) for field in found if field.number == 2),
        logs=tuple(_log(field) for field in found if field.number == 3),
    )


def _last(message: Field) -> dict[int, Field]:
    # The last occurrence of a field that is not repeated wins: https://protobuf.dev/programming-guides/encoding/
    return {field.number: field for field in fields(message.payload)}


def _absent(number: int) -> Field:
    return Field(number=number, integer=0, payload=b"")


def _vertex(message: Field) -> Vertex:
    found = _last(message)
    return Vertex(
        digest=found.get(1, _absent(1)).text,
        name=found.get(3, _absent(3)).text,
        cached=bool(found.get(4, _absent(4)).integer),
        started=_moment(found.get(5)),
        completed=_moment(found.get(6)),
        error=found.get(7, _absent(7)).text,
    )


def _status(message: Field) -> VertexStatus:
    found = _last(message)
    return VertexStatus(
        id=found.get(1, _absent(1)).text,
        name=found.get(3, _absent(3)).text,
        current=found.get(4, _absent(4)).integer,
        total=found.get(5, _absent(5)).integer,
    )


def _log(message: Field) -> VertexLog:
    found = _last(message)
    return VertexLog(
        vertex=found.get(1, _absent(1)).text,
        stream=found.get(3, _absent(3)).integer,
        message=found.get(4, _absent(4)).payload,
    )


def _moment(timestamp: Field | None) -> int | None:
    if timestamp is None:
        return None
    found = _last(timestamp)
    return found.get(1, _absent(1)).integer * _NANOSECONDS + found.get(2, _absent(2)).integer


class TraceReader:
    """Converts the sequence of states that the engine sends to events.

    BuildKit opens a step more than once: first to look into its cache, then to run it. Each opening gives a
    `StepStarted` and a `StepFinished`, so the seconds of a step are the sum over its openings.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._open: dict[str, int] = {}
        self._closed: dict[str, int] = {}
        self._lines: dict[tuple[str, int], LineSplitter] = {}

    def feed(self, aux: str) -> Iterator[BuildEvent]:
        """Yield the events of one trace message.

        Raises:
            MalformedMessage: The message cannot be read; the reader keeps its state.
        """
        response = decode(aux)
        # The output of a step arrives with the message of its end at the latest, and is reported before that end.
        for vertex in response.vertexes:
            yield from self._begin(vertex)
        for log in response.logs:
            yield from self._write(log)
        for status in response.statuses:
            yield from _moved(status)
        for vertex in response.vertexes:
            yield from self._end(vertex)

    def _begin(self, vertex: Vertex) -> Iterator[BuildEvent]:
        self._names[vertex.digest] = vertex.name
        moment = vertex.completed if vertex.started is None else vertex.started
        if moment is None or vertex.digest in self._open or moment < self._closed.get(vertex.digest, moment):
            return
        if vertex.completed is not None and vertex.completed == self._closed.get(vertex.digest):
            return
        self._open[vertex.digest] = moment
        yield StepStarted(step=vertex.name)

    def _end(self, vertex: Vertex) -> Iterator[BuildEvent]:
        if vertex.completed is None or vertex.digest not in self._open:
            return
        started = self._open.pop(vertex.digest)
        self._closed[vertex.digest] = vertex.completed
        for key in sorted(key for key in self._lines if key[0] == vertex.digest):
            yield from self._said(vertex.digest, self._lines.pop(key).flush())
        seconds = 0.0 if vertex.cached else max(0, vertex.completed - started) / _NANOSECONDS
        yield StepFinished(step=vertex.name, seconds=seconds, cached=vertex.cached, error=vertex.error)

    def _write(self, log: VertexLog) -> Iterator[BuildEvent]:
        splitter = self._lines.setdefault((log.vertex, log.stream), LineSplitter())
        yield from self._said(log.vertex, splitter.feed(log.message))

    def _said(self, digest: str, lines: Iterator[str]) -> Iterator[StepOutput]:
        return (StepOutput(step=self._names.get(digest, ""), text=line) for line in lines)


def _moved(status: VertexStatus) -> Iterator[Transfer]:
    # Statuses such as "exporting layers" are phases of a step, not transfers.
    if status.current > 0 or status.total > 0:
        item = status.id if status.name in {"", status.id} else f"{status.name} {status.id}"
        yield Transfer(item=item, current=max(0, status.current), total=max(0, status.total))
