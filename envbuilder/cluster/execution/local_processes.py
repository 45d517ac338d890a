"""Run commands in processes of this machine."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence

from envbuilder.cluster.execution.commands import CommandProcess
from envbuilder.cluster.execution.executor import Lost, Outcome, WorkItem
from envbuilder.cluster.execution.targets import LocalProcesses

_POLL = 0.05


class LocalExecutor:
    """The `Executor` of this machine."""

    def __init__(self, target: LocalProcesses, progress: Callable[[str], None]) -> None:
        self._at_once = target.at_once or os.cpu_count() or 1
        self._progress = progress

    def map(self, items: Sequence[WorkItem]) -> Generator[Outcome]:
        """See `Executor.map`."""
        waiting = deque(items)
        running: dict[str, CommandProcess] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._at_once:
                    item = waiting.popleft()
                    try:
                        running[item.name] = CommandProcess(item)
                    except OSError as error:
                        yield Lost(name=item.name, reason=f"the command cannot be started: {error}")
                        continue
                    self._progress(f"{item.name}: started")
                for name in [name for name, process in running.items() if process.ended()]:
                    yield running.pop(name).outcome()
                time.sleep(_POLL)
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.stop()
