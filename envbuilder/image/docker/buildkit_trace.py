"""BuildKit's progress messages (`moby.buildkit.trace`) as build events.

Source: message StatusResponse, the same from Engine 18.09 to 28.5,
https://github.com/moby/buildkit/blob/master/api/services/control/control.proto
"""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.log_text import LineSplitter
from envbuilder.image.docker.protobuf_wire import Field, MalformedMessage, fields
from envbuilder.oci.transfers import Transfer

_NANOSECONDS = 1_000_000_000
_VERTEX, _STATUS, _LOG = 1, 2, 3
"""Numbers of the parts of a StatusResponse, each of which may occur several times."""

_ABSENT = Field(number=0, integer=0, payload=b"")
_Fields: TypeAlias = defaultdict[int, Field]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vertex:
    """State of one step at one moment; the engine repeats it whenever it changes.

    Attributes:
        digest: Identifies the step within a build.
        name: Display name, such as `[2/3] RUN make`.
        cached: True if the engine took it from its cache.
        started: Nanoseconds since 1970; None before it began.
        completed: Likewise; None while it runs.
        error: Error message; empty if there is none.
    """

    digest: str
    name: str
    cached: bool
    started: int | None
    completed: int | None
    error: str


def _parts(aux: str) -> tuple[tuple[int, _Fields], ...]:
    """Return number and fields of each part of a message, in the engine's order.

    Raises:
        MalformedMessage: It is not base64, or not a protobuf message.
    """
    try:
        message = base64.b64decode(aux, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedMessage(f"the message is not base64: {error}") from error
    found = tuple(fields(message))
    return tuple((part.number, _fields_of(part)) for part in found if part.number in {_VERTEX, _STATUS, _LOG})


def _fields_of(message: Field) -> _Fields:
    # The last occurrence of a field that is not repeated wins: https://protobuf.dev/programming-guides/encoding/
    return defaultdict(lambda: _ABSENT, {field.number: field for field in fields(message.payload)})


def _vertex(found: _Fields) -> _Vertex:
    return _Vertex(
        digest=found[1].text,
        name=found[3].text,
        cached=bool(found[4].integer),
        started=_moment(found.get(5)),
        completed=_moment(found.get(6)),
        error=found[7].text,
    )


def _moment(timestamp: Field | None) -> int | None:
    if timestamp is None:
        return None
    found = _fields_of(timestamp)
    return found[1].integer * _NANOSECONDS + found[2].integer


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
        parts = _parts(aux)
        vertexes = [_vertex(found) for number, found in parts if number == _VERTEX]
        # The output of a step arrives with the message of its end at the latest, and is reported before that end. The
        # order of the parts is that of their events: output (3), then transfers (2).
        for vertex in vertexes:
            yield from self._begin(vertex)
        for number, found in sorted(parts, key=lambda part: -part[0]):
            if number == _LOG:
                yield from self._write(digest=found[1].text, stream=found[3].integer, piece=found[4].payload)
            elif number == _STATUS:
                yield from _moved(found[1].text, found[3].text, current=found[4].integer, total=found[5].integer)
        for vertex in vertexes:
            yield from self._end(vertex)

    def _begin(self, vertex: _Vertex) -> Iterator[BuildEvent]:
        self._names[vertex.digest] = vertex.name
        moment = vertex.completed if vertex.started is None else vertex.started
        if moment is None or vertex.digest in self._open or moment < self._closed.get(vertex.digest, moment):
            return
        if vertex.completed is not None and vertex.completed == self._closed.get(vertex.digest):
            return
        self._open[vertex.digest] = moment
        yield StepStarted(step=vertex.name)

    def _end(self, vertex: _Vertex) -> Iterator[BuildEvent]:
        if vertex.completed is None or vertex.digest not in self._open:
            return
        started = self._open.pop(vertex.digest)
        self._closed[vertex.digest] = vertex.completed
        for key in sorted(key for key in self._lines if key[0] == vertex.digest):
            yield from self._output_events(vertex.digest, self._lines.pop(key).flush())
        seconds = 0.0 if vertex.cached else max(0, vertex.completed - started) / _NANOSECONDS
        yield StepFinished(step=vertex.name, seconds=seconds, cached=vertex.cached, error=vertex.error)

    def _write(self, *, digest: str, stream: int, piece: bytes) -> Iterator[BuildEvent]:
        splitter = self._lines.setdefault((digest, stream), LineSplitter())
        yield from self._output_events(digest, splitter.feed(piece))

    def _output_events(self, digest: str, lines: Iterator[str]) -> Iterator[StepOutput]:
        return (StepOutput(step=self._names.get(digest, ""), text=line) for line in lines)


def _moved(identity: str, name: str, *, current: int, total: int) -> Iterator[Transfer]:
    # Statuses such as "exporting layers" are phases of a step, not transfers.
    if current > 0 or total > 0:
        item = identity if name in {"", identity} else f"{name} {identity}"
        yield Transfer(item=item, current=max(0, current), total=max(0, total))
