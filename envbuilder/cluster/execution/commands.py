"""Run the command of one work item in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import envbuilder
from envbuilder.cluster.execution.executor import FILES, Done, FailedItem, Lost, Outcome, WorkItem
from envbuilder.cluster.execution.packed_files import changed_files, read_files, unpack_files, write_files
from envbuilder.cluster.execution.process_environment import environment_with, node_name
from envbuilder.core.json_input import BadJson, load_object
from envbuilder.core.work_directories import WorkDirectory, remove_abandoned

_PROGRAM = "envbuilder.cluster.execution.command_process"
_STOPPED = frozenset(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
"""Statuses of a command that was stopped: docs/exit-codes.md."""
_SECONDS_TO_STOP = 15.0
_POLL = 0.05
_SHOWN_LINES = 8
_LONGEST = 64 << 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class CommandProcess:
    """The running command of a work item. Call `outcome` after it has ended, or `stop`; both remove its files.

    Raises:
        OSError: The process cannot be started.
    """

    def __init__(self, item: WorkItem) -> None:
        self._item = item
        remove_abandoned()
        self._folder = WorkDirectory("command")
        try:
            self._start()
        except BaseException:
            self._folder.remove()
            raise

    def _start(self) -> None:
        root = self._folder.path
        sent = root / "files"
        self._files = unpack_files(self._item.files) if self._item.files else {}
        write_files(sent, self._files)
        environ = environment_with(**{name: text.replace(FILES, str(sent)) for name, text in self._item.variables})
        # -P: a module in the current directory must not take the place of one of ours.
        command = [sys.executable, "-P", "-m", _PROGRAM, str(os.getpid()), *self._item.arguments]
        self._began = time.monotonic()
        with (root / "stdout").open("xb") as out, (root / "stderr").open("xb") as err:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environ,
                process_group=0,
                pass_fds=(self._folder.descriptor,),
            )

    def ended(self) -> bool:
        """Return True if the command has ended."""
        return self._process.poll() is not None

    def terminate(self) -> None:
        """Ask the command to end; it cleans up as after Ctrl-C."""
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        """End the command, by force if it does not end in time."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_STOP)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._folder.remove()

    def outcome(self) -> Outcome:
        """Return the outcome of a command that has ended."""
        status = self._process.wait()
        # Nothing of it may be left, such as a container runtime that has lost its parent.
        self._signal(signal.SIGKILL)
        seconds = time.monotonic() - self._began
        try:
            return self._read(self._folder.path, status, seconds)
        finally:
            self._folder.remove()

    def _read(self, root: Path, status: int, seconds: float) -> Outcome:
        item = self._item
        reason = _error_message(_tail(root / "stderr"))
        if status < 0:
            return Lost(name=item.name, reason=_killed(-status))
        if status in _STOPPED:
            return Lost(name=item.name, reason=f"stopped by {signal.Signals(status - 128).name}")
        if status not in {0, 1}:
            return FailedItem(name=item.name, status=status, reason=reason, node=node_name())
        try:
            with (root / "stdout").open("rb") as stream:
                document = load_object(stream.read(_LONGEST + 1))
        except BadJson as error:
            return FailedItem(
                name=item.name, status=status, reason=reason or f"no JSON document: {error}", node=node_name()
            )
        after = read_files(root / "files") if self._files else {}
        return Done(
            name=item.name,
            status=status,
            document=document,
            files=changed_files(self._files, after),
            node=node_name(),
            seconds=seconds,
        )

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


_running: dict[str, list[CommandProcess]] = {}
"""Commands that `run_item` runs in this process, by call."""


def run_item(item: WorkItem, call: str = "") -> Outcome:
    """Run the command of an item in this process's place: the function that workers of a cluster execute.

    Args:
        item: The item.
        call: Name under which `stop_items` finds it.
    """
    if item.version != envbuilder.__version__:
        problem = f"the worker has envbuilder {envbuilder.__version__}, this machine {item.version}"
        return FailedItem(
            name=item.name, status=2, reason=f"{problem}; install the same version on both", node=node_name()
        )
    try:
        process = CommandProcess(item)
    except OSError as error:
        return Lost(name=item.name, reason=f"the command cannot be started on {node_name()}: {error}")
    running = _running.setdefault(call, [])
    running.append(process)
    try:
        while not process.ended():
            time.sleep(_POLL)
    except BaseException:
        process.stop()
        raise
    finally:
        running.remove(process)
    return process.outcome()


def stop_items(call: str) -> None:
    """Ask all commands of a call that run in this process to end."""
    for process in list(_running.get(call, ())):
        process.terminate()


def _killed(number: int) -> str:
    cause = ", perhaps because the machine ran out of memory" if number == signal.SIGKILL else ""
    return f"killed by {signal.Signals(number).name} on {node_name()}{cause}"


def _tail(path: Path) -> str:
    text = path.read_bytes()[-_LONGEST:].decode("utf-8", "replace")
    return _COLOURS.sub("", text)


def _error_message(text: str) -> str:
    r"""Return the error of a command without its progress; the last lines if there is none.

    Example:
        >>> _error_message("· looking\nerror: no base\n  none\nnext: add one")
        'no base\n  none; add one'
    """
    _, error, rest = text.rpartition("\nerror: ") if "\nerror: " in text else text.partition("error: ")
    if not error:
        return "\n".join(text.splitlines()[-_SHOWN_LINES:])
    return "; ".join(part.strip() for part in rest.split("\nnext: "))
