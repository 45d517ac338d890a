"""The step of downloads ends with the last file, and not with the build."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest

from envbuilder.catalog.archives import ArchiveFormat, ArchivePin
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.builds import BuildEvent, StepFinished
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.schedule import Fetching, Journal
from envbuilder.oci.runtime.cancellation import EventCancellation
from tests.fakes.vendor_archives import pin_of


class Files:
    """Vendor archives that are delivered at once; those with a fault are refused."""

    def __init__(self, faulty: frozenset[str] = frozenset()) -> None:
        self._faulty = faulty

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        progress(pin.size, pin.size)
        if pin.file in self._faulty:
            raise VerificationFailed(f"{pin.file} is damaged")


def fetching(stack: ExitStack, files: Files, listen: Callable[[BuildEvent], None]) -> Fetching:
    context = cast("AssemblyContext", SimpleNamespace(archives=SimpleNamespace(files=files)))
    journal = Journal(listener=listen, clock=time.monotonic)
    return Fetching(context=context, journal=journal, stack=stack, cancellation=EventCancellation())


PINS = [pin_of(name.encode(), ArchiveFormat.TAR_XZ, name=name) for name in ("one", "two")]


def test_the_step_ends_before_anybody_asks_for_the_files() -> None:
    ended = Event()
    told: list[StepFinished] = []

    def listen(event: BuildEvent) -> None:
        if isinstance(event, StepFinished):
            told.append(event)
            ended.set()

    with ExitStack() as stack:
        files = fetching(stack, Files(), listen)
        files.order((), PINS, ())
        assert ended.wait(60)
        files.close()
    assert [event.step for event in told] == ["files to download: 2"]


def test_a_step_with_a_file_that_could_not_be_fetched_does_not_end() -> None:
    told: list[BuildEvent] = []
    with ExitStack() as stack:
        files = fetching(stack, Files(frozenset({PINS[0].file})), told.append)
        files.order((), PINS, ())
        with pytest.raises(VerificationFailed):
            files.close()
    assert not [event for event in told if isinstance(event, StepFinished)]
