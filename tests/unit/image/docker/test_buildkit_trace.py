import base64
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.buildkit_trace import TraceReader
from envbuilder.image.docker.protobuf_wire import MalformedMessage, fields
from envbuilder.oci.transfers import Transfer

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64

Value = int | str | bytes


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def message(*parts: tuple[int, Value]) -> bytes:
    """Encode `(field number, value)` pairs as the protobuf library does."""
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            payload = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(payload)) + payload
    return out


def moment(seconds: int, nanos: int = 0) -> bytes:
    return message((1, seconds), (2, nanos))


def vertex(name: str, *more: tuple[int, Value], digest: str = DIGEST) -> tuple[int, bytes]:
    return 1, message((1, digest), (2, "sha256:parent"), (2, "sha256:other-parent"), (3, name), *more)


def log(text: bytes, stream: int = 1, digest: str = DIGEST) -> tuple[int, bytes]:
    return 3, message((1, digest), (2, moment(1)), (3, stream), (4, text))


def heard(responses: Sequence[Sequence[tuple[int, Value]]]) -> list[BuildEvent]:
    reader = TraceReader()
    texts = (base64.b64encode(message(*response)).decode() for response in responses)
    return [event for text in texts for event in reader.feed(text)]


def test_a_step_starts_once_and_finishes_with_the_time_that_the_engine_measured() -> None:
    started = (5, moment(100, 250_000_000))
    events = heard(
        [
            [vertex("[1/2] RUN make")],
            [vertex("[1/2] RUN make", started)],
            [vertex("[1/2] RUN make", started)],
            [vertex("[1/2] RUN make", started, (6, moment(103)))],
            [vertex("[1/2] RUN make", started, (6, moment(103)))],
        ]
    )
    assert events == [
        StepStarted(step="[1/2] RUN make"),
        StepFinished(step="[1/2] RUN make", seconds=2.75, cached=False),
    ]


def test_a_step_that_is_opened_again_tells_of_both_openings() -> None:
    events = heard(
        [
            [vertex("FROM base", (5, moment(100)), (6, moment(101)))],
            [vertex("FROM base", (5, moment(102)))],
            [vertex("FROM base", (5, moment(102)), (6, moment(105)))],
        ]
    )
    assert [event.seconds for event in events if isinstance(event, StepFinished)] == [1.0, 3.0]
    assert sum(isinstance(event, StepStarted) for event in events) == 2


def test_a_cached_step_takes_no_time() -> None:
    events = heard([[vertex("RUN x", (4, 1), (5, moment(1)), (6, moment(2)))]])
    assert events[-1] == StepFinished(step="RUN x", seconds=0.0, cached=True)


def test_a_failed_step_carries_its_error() -> None:
    events = heard([[vertex("RUN x", (5, moment(1)), (6, moment(2)), (7, "exit code: 3"))]])
    assert events[-1] == StepFinished(step="RUN x", seconds=1.0, cached=False, error="exit code: 3")


def test_lines_are_put_together_across_messages_for_each_stream() -> None:
    events = heard(
        [
            [vertex("RUN x", (5, moment(1)))],
            [log(b"hel"), log(b"war", stream=2)],
            [log(b"lo\nand more"), log(b"ning\n", stream=2)],
            [vertex("RUN x", (5, moment(1)), (6, moment(2)))],
        ]
    )
    assert [event.text for event in events if isinstance(event, StepOutput)] == ["hello", "warning", "and more"]
    assert isinstance(events[-1], StepFinished)


def test_a_character_cut_in_two_is_whole_again() -> None:
    first, second = "größe\n".encode()[:3], "größe\n".encode()[3:]
    events = heard([[vertex("RUN x", (5, moment(1)))], [log(first)], [log(second)]])
    assert events[-1] == StepOutput(step="RUN x", text="größe")


def test_output_of_parallel_steps_is_told_apart() -> None:
    events = heard(
        [
            [vertex("RUN a", (5, moment(1))), vertex("RUN b", (5, moment(1)), digest=OTHER)],
            [log(b"of b\n", digest=OTHER), log(b"of a\n")],
        ]
    )
    assert events[2:] == [StepOutput(step="RUN b", text="of b"), StepOutput(step="RUN a", text="of a")]


def test_output_of_an_unknown_step_is_kept() -> None:
    assert heard([[log(b"orphan\n")]]) == [StepOutput(step="", text="orphan")]


def test_bytes_on_their_way_are_a_transfer_and_phases_are_not() -> None:
    layer = message((1, "sha256:1"), (2, DIGEST), (3, "extracting"), (4, 5), (5, 10))
    phase = message((1, "exporting layers"), (2, DIGEST))
    assert heard([[(2, layer), (2, phase)]]) == [Transfer(item="extracting sha256:1", current=5, total=10)]


def test_unknown_fields_of_any_wire_type_are_passed_over() -> None:
    unknown = varint(15 << 3 | 1) + bytes(8) + varint(16 << 3 | 5) + bytes(4)
    body = message((17, 3), (18, "new"), vertex("RUN x", (5, moment(1)), (99, "new"), (98, 7))) + unknown
    assert list(TraceReader().feed(base64.b64encode(body).decode())) == [StepStarted(step="RUN x")]


def test_numbers_are_signed() -> None:
    (field,) = fields(message((1, -5)))
    assert field.integer == -5


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x0a\x05ab", "a field is cut off"),
        (b"\x80", "a number is cut off"),
        (b"\xff" * 11, "a number is cut off"),
        (b"\x0b", "wire type 3"),
        (b"\x02\x00", "the number 0"),
        (b"\x09\x00", "a field is cut off"),
    ],
)
def test_a_broken_message_says_how_it_is_broken(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        list(TraceReader().feed(base64.b64encode(body).decode()))


def test_text_that_is_not_base64_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="base64"):
        list(TraceReader().feed("µ not base64"))


def events_or_error(reader: TraceReader, aux: str) -> None:
    with suppress(MalformedMessage):
        for event in reader.feed(aux):
            assert isinstance(event, StepStarted | StepFinished | StepOutput | Transfer)


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes_give_events_or_a_malformed_message(bodies: list[bytes]) -> None:
    reader = TraceReader()
    for body in bodies:
        events_or_error(reader, base64.b64encode(body).decode())


@given(st.text(max_size=50))
def test_any_text_gives_events_or_a_malformed_message(aux: str) -> None:
    events_or_error(TraceReader(), aux)


values = st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=9), st.binary(max_size=9))
parts = st.lists(st.tuples(st.integers(1, 8), values), max_size=8).map(lambda pairs: message(*pairs))
states = st.lists(st.tuples(st.integers(1, 4), parts), max_size=6)


@given(st.lists(states, max_size=6))
def test_any_states_close_only_what_they_opened(responses: list[list[tuple[int, bytes]]]) -> None:
    reader, opened = TraceReader(), 0
    for response in responses:
        try:
            for event in reader.feed(base64.b64encode(message(*response)).decode()):
                opened += isinstance(event, StepStarted)
                opened -= isinstance(event, StepFinished)
                assert opened >= 0
        except MalformedMessage:
            continue


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), st.one_of(st.integers(-(2**63), 2**63 - 1), st.binary()))))
def test_what_is_encoded_is_read_back(pairs: list[tuple[int, int | bytes]]) -> None:
    read = [(field.number, field.payload or field.integer) for field in fields(message(*pairs))]
    assert read == [(number, value or 0) for number, value in pairs]
