"""The terminal of this process, while a command uses it."""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import signal
import struct
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

INPUT, OUTPUT = 0, 1
_PIECE = 1 << 16
_SIZE = "HHHH"


def is_usable() -> bool:
    """Return True if standard input and output are a terminal, and this process is in its foreground.

    A background job that changes the settings of its terminal is stopped by the kernel.
    """
    try:
        return os.isatty(INPUT) and os.isatty(OUTPUT) and os.tcgetpgrp(INPUT) == os.getpgrp()
    except OSError:
        return False


def window() -> tuple[int, int]:
    """Return the rows and columns of the terminal; zeros if they are unknown."""
    try:
        size = os.get_terminal_size(OUTPUT)
    except OSError:
        return 0, 0
    return size.lines, size.columns


def set_window(terminal: int, rows: int, columns: int) -> None:
    """Set the size of a terminal; its foreground processes receive SIGWINCH."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack(_SIZE, rows, columns, 0, 0))


@contextmanager
def raw() -> Iterator[None]:
    """Pass every key on to the command, also Ctrl-C; restore the settings of the terminal at the end."""
    before = termios.tcgetattr(INPUT)
    try:
        tty.setraw(INPUT)
        yield
    finally:
        with suppress(termios.error):  # the terminal was closed
            termios.tcsetattr(INPUT, termios.TCSADRAIN, before)


@contextmanager
def on_resize(act: Callable[[int, int], None]) -> Iterator[None]:
    """Call a function with rows and columns, now and whenever the size of the terminal changes."""
    act(*window())
    if threading.current_thread() is not threading.main_thread():
        yield  # Python calls signal handlers in the main thread only.
        return
    before = signal.signal(signal.SIGWINCH, lambda *_: act(*window()))
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


def connect(master: int) -> None:
    """Pass everything on between the terminal of this process and that of a command, until the command closes its own.

    Args:
        master: Open file of the command's terminal, on the side of its user.
    """
    resized = on_resize(lambda rows, columns: set_window(master, rows, columns))
    with raw(), resized, selectors.DefaultSelector() as selector:
        selector.register(master, selectors.EVENT_READ)
        selector.register(INPUT, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if INPUT in ready and not _copy(INPUT, master):
                selector.unregister(INPUT)
            if master in ready and not _copy(master, OUTPUT):
                return


def _copy(source: int, target: int) -> bool:
    """Copy what can be read now; return False at the end."""
    try:
        piece = rest = os.read(source, _PIECE)
        while rest:
            rest = rest[os.write(target, rest) :]
    except OSError as error:
        if error.errno == errno.EIO:  # The terminal was closed, or the last process that had it open has ended.
            return False
        raise
    return bool(piece)


@contextmanager
def from_the_keyboard() -> Iterator[None]:
    """Leave the signals of the keyboard to a command in the same foreground process group, which receives them too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Ignored signals would stay ignored in the command.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def forwarded(send: Callable[[int], None], *, keyboard: bool = True) -> Iterator[None]:
    """Pass the signals that ask this process to end on to a command, twice; the next one ends this process as usual.

    Args:
        send: Sends a signal; called in a thread of its own, since a handler may interrupt any operation.
        keyboard: Whether SIGINT is one of them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, *((signal.SIGINT,) if keyboard else ()))
    before = {number: signal.getsignal(number) for number in numbers}
    count = 0

    def forward(number: int, _frame: object) -> None:
        nonlocal count
        count += 1
        threading.Thread(target=_sent, args=(send, number), daemon=True).start()
        if count == _FORWARDED:
            restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number, handler in before.items():
        # A process in the background of a script ignores SIGINT, and so does its command.
        if handler is not signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        yield
    finally:
        restore()


_FORWARDED = 2
"""Number of forwarded signals: the second Ctrl-C ends programs that save their work after the first."""


def _sent(send: Callable[[int], None], number: int) -> None:
    with suppress(OSError):
        send(number)
