"""A command that is asked to end cleans up and ends with the status that shells give."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator

import pytest

from envbuilder.cli.main import Stopped, stoppable
from tests.unit.cli.running import CommandLine


class Interrupting(io.RawIOBase):
    """Standard input during which a signal arrives."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self.number = number

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: object) -> int:
        signal.raise_signal(self.number)
        return 0


@pytest.fixture(autouse=True)
def ordinary_signals() -> Iterator[None]:
    """What a command has in a terminal: a job in the background of a script, as CI may be, ignores SIGINT."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGTERM)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_its_status(
    envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    before = signal.getsignal(number)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Interrupting(number))))
    ended = envbuilder("diagnose", "-")
    assert ended.status == status
    assert ended.stderr.strip().endswith("cancelled" if number is signal.SIGINT else f"stopped by {number.name}")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_cleaning_up_is_not_interrupted_by_the_next_signal(number: signal.Signals) -> None:
    cleaned = False
    with pytest.raises(Stopped) as caught, stoppable():  # noqa: PT012  what is raised inside is the point
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
            cleaned = True
    assert cleaned
    assert caught.value.signal is number


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
