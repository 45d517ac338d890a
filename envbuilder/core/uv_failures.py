"""Failures of uv that do not concern packages: of this machine, of its clock, of credentials."""

from __future__ import annotations

import errno
import os
import re
import signal

from envbuilder.core.errors import DiskFull, EnvbuilderError, MachineError, SourceUnreachable, ToolFailed
from envbuilder.core.http.credentials import LOGIN_HINT
from envbuilder.core.http.failures import CLOCK, CLOCK_HINT

_NOT_ALLOWED = "valid authentication credentials"
_CLOCK = re.compile(
    r"invalid peer certificate: "
    r"(?:Expired|NotValidYet|certificate (?:has )?expired|certificate (?:is )?not (?:yet )?valid)"
)
"""Texts of rustls: the variants of `CertificateError`, and their messages since 0.23."""

_SYSTEM = re.compile(r"\(os error (\d{1,5})\)|\bOs \{ code: (\d{1,5})")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LIMITS = frozenset({errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EIO, errno.EROFS, errno.EACCES})
_MEMORY = "memory allocation of"
_SIZE_SIGNAL = signal.SIGXFSZ


def failure_of(status: int, output: str, places: str) -> EnvbuilderError | None:
    """Return the reason why uv failed; None if it concerns packages, or the index does not respond.

    Args:
        status: Its exit status, negative for a signal.
        output: Its standard error.
        places: The directories that it writes into, for errors.
    """
    if _NOT_ALLOWED in output:
        return SourceUnreachable(
            "the package index refuses access: user or password is missing or wrong", hint=LOGIN_HINT
        )
    if _CLOCK.search(output):
        return SourceUnreachable(f"the package index cannot be used: {CLOCK}", hint=CLOCK_HINT)
    codes = {int(found[1] or found[2]) for found in _SYSTEM.finditer(output)}
    if codes & _FULL or status == -_SIZE_SIGNAL:
        return DiskFull(f"uv has no room left in {places}\n{output}".rstrip(), hint="free some space, or set TMPDIR")
    if codes & _LIMITS or _MEMORY in output:
        words = ", ".join(os.strerror(code) for code in sorted(codes & _LIMITS)) or os.strerror(errno.ENOMEM)
        return MachineError(
            f"uv cannot run: {words}\n{output}", hint="check `ulimit -a` and the owner of its directories"
        )
    if status < 0:
        return ToolFailed(
            f"uv was terminated by {_signal(-status)}\n{output}".rstrip(),
            hint="SIGKILL often means that the machine ran out of memory: free memory, then run the command again",
        )
    return None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
