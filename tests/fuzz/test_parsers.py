"""Whatever a parser of outside data is given: a value or our error, within bounded memory and time.

A test run tries a few inputs, the same ones each time, so that it does not fail by chance. `make fuzz SECONDS=3600`
tries new ones for that long; what it finds belongs into `tests/fuzz/corpus/PARSER/`.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, seed, settings

from envbuilder.core.errors import EnvbuilderError
from tests.fuzz import seeds
from tests.fuzz.mutation import damaged
from tests.fuzz.parsers import PARSERS, Parser

_EXAMPLES = 40
_BATCH = 500
_MOST_SECONDS = 20.0
"""Of processor time, for one input of a few kilobytes: an honest one takes milliseconds."""


class Endless(BaseException):
    """A parser does not come to an end; no parser catches this."""


_MOST_MEMORY = 1 << 20
"""KiB that the process may grow by while one parser is tried."""

_SECONDS = float(os.environ.get("ENVBUILDER_FUZZ_SECONDS") or 0)


@contextmanager
def limited() -> Iterator[None]:
    """End a block that takes too much processor time."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(parser: Parser, content: bytes) -> None:
    """Parse an input; anything but a value or our error, with an exit code of its own, is a failure."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, limited():
        try:
            parser.run(content, Path(folder))
        except EnvbuilderError as error:
            if error.exit_code == EnvbuilderError.exit_code:
                raise
        except parser.refuses:
            pass


def tried(name: str, examples: int, number: int) -> None:
    """Try some inputs; the same number gives the same ones."""
    parser = PARSERS[name]

    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=False, suppress_health_check=list(HealthCheck)
    )
    @given(damaged((*parser.seeds(), *seeds.corpus(name))))
    def run(content: bytes) -> None:
        attempt(parser, content)

    run()


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_parser_gives_a_value_or_our_error(name: str) -> None:
    parser = PARSERS[name]
    for content in (*parser.seeds(), *seeds.corpus(name)):
        attempt(parser, content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if _SECONDS:
        end = time.monotonic() + _SECONDS / len(PARSERS)
        while time.monotonic() < end:
            tried(name, _BATCH, random.SystemRandom().getrandbits(32))
    else:
        tried(name, _EXAMPLES, 13)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MOST_MEMORY


def test_each_folder_of_the_corpus_belongs_to_a_parser() -> None:
    assert {folder.name for folder in seeds.CORPUS.iterdir()} <= set(PARSERS)
