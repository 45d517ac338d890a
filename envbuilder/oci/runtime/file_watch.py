"""Watch of the files that a command opens in its root file system, by inotify.

An open is reported whatever happens with the file then: it is read, mapped into memory as a library, or executed.
Opens in an overlay are reported to who watches directories of the overlay itself, so that the sandbox watches them; it
needs no privileges for that. The access times of files say less: those below an overlay do not change.

Source: https://man7.org/linux/man-pages/man7/inotify.7.html
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import ToolFailed

WATCHED = "watched"
"""Name of the file in which a sandbox writes the directories that it watches."""

_LOST = 0x4000
_FOLDER = 0x40000000
_HEADER = struct.Struct("iIII")
_MOST_BYTES = 1 << 20
_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A queue of events.

    Attributes:
        number: Open file, to which a sandbox adds the directories of its root.
        folders: File that receives them before the command starts: number of the watch, a space, the absolute path in
            the root, and a zero byte, for each.
    """

    number: int
    folders: Path


@contextmanager
def watching(opened: Callable[[str], None] | None, folders: Path) -> Iterator[Watch | None]:
    """Report the files that are opened while the block runs; yield None if that is not wanted.

    Args:
        opened: Receives the absolute path in the root, from another thread.
        folders: File for the directories that are watched.

    Raises:
        ToolFailed: The kernel allows no further queue, or lost events.
    """
    if opened is None:
        yield None
        return
    number = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if number < 0:
        reason = os.strerror(ctypes.get_errno())
        raise ToolFailed(f"opened files cannot be watched: {reason}", hint="sysctl fs.inotify.max_user_instances=256")
    reader = _Reader(number, folders, opened)
    try:
        reader.start()
        try:
            yield Watch(number=number, folders=folders)
        finally:
            reader.finish()
    finally:
        os.close(number)
    if reader.has_lost:
        raise ToolFailed(
            "the kernel lost reports of opened files: more were opened at once than it keeps",
            hint="sysctl fs.inotify.max_queued_events=262144, then run it again",
        )


class _Reader(threading.Thread):
    """Reads events until it is told to finish, and then those that are left."""

    def __init__(self, number: int, folders: Path, opened: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self.has_lost = False
        self._number = number
        self._folders = folders
        self._opened = opened
        self._names: Mapping[int, str] = {}
        self._ends = threading.Event()

    def finish(self) -> None:
        """Read what is left, and end."""
        self._ends.set()
        self.join()

    def run(self) -> None:
        while True:
            is_last = self._ends.is_set()
            select.select([self._number], [], [], 0 if is_last else _SECONDS)
            while self._read():
                pass
            if is_last:
                return

    def _read(self) -> bool:
        try:
            data = os.read(self._number, _MOST_BYTES)
        except BlockingIOError:
            return False
        # The directories are written before the command starts, and only then a file of them is opened.
        self._names = self._names or _names(self._folders)
        for watch, mask, name in _events(data):
            self.has_lost = self.has_lost or bool(mask & _LOST)
            if watch in self._names and name and not mask & _FOLDER:
                self._opened(f"{self._names[watch].rstrip('/')}/{name}")
        return True


def _names(folders: Path) -> dict[int, str]:
    try:
        lines = folders.read_bytes().split(b"\0")[:-1]
    except FileNotFoundError:
        return {}
    pairs = (line.partition(b" ") for line in lines)
    return {int(watch): os.fsdecode(path) for watch, _, path in pairs}


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield watch, mask and name of each event."""
    position = 0
    while position < len(data):
        watch, mask, _, length = _HEADER.unpack_from(data, position)
        position += _HEADER.size
        yield watch, mask, os.fsdecode(data[position : position + length].rstrip(b"\0"))
        position += length
