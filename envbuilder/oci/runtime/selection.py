"""Which way to run commands works on this machine: found out by running one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from envbuilder.core.errors import EnvbuilderError, ToolMissing
from envbuilder.oci.runtime.interpreter_guard import Guard
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.namespaces import Namespaces
from envbuilder.oci.runtime.processes import wait_for
from envbuilder.oci.runtime.runc import Runc
from envbuilder.oci.runtime.sandbox import FOREIGN, Sandbox, Task
from envbuilder.oci.runtime.unconfined import Unconfined

_SECONDS_TO_TRY = 20.0
_NOT_THERE = "/envbuilder-tries"
_NOT_FOUND = 127
_HINT = (
    "apt-get install runc, let the kernel make user namespaces (sysctl user.max_user_namespaces, and "
    "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or use --engine docker"
)


def choose(work: Path, search_path: str) -> Sandbox:
    """The first way that works: runc as root, runc as anybody, namespaces as root, namespaces as anybody.

    Args:
        work: For files of runs; made when it is missing.
        search_path: Folders to find programs in, as in PATH.

    Raises:
        ToolMissing: None works; says why each does not.
    """
    return first_working(candidates(work, search_path))


def confine(work: Path, search_path: str, *, allow_host: bool) -> Sandbox:
    """Return what foreign code is run in: the sandbox that works here, or this machine itself if that is allowed.

    Where the kernel makes no namespaces, the interpreter of an image is confined by Landlock, and only build scripts
    of packages are refused.

    Args:
        work: For files of runs; made when it is missing.
        search_path: Directories to find programs in, as in PATH.
        allow_host: Whether foreign code may run as the caller where there is no sandbox.

    Raises:
        ToolMissing: There is no sandbox, and nobody allowed to go without.
    """
    otherwise = Unconfined(work=work) if allow_host else None
    return confined(candidates(work, search_path), otherwise, Landlock(work=work))


def guard(work: Path, *, allow_host: bool) -> Guard | None:
    """Return what puts the build scripts that uv runs into a sandbox; None to run them as the caller.

    It needs namespaces of accounts. Errors as in `confine`.
    """
    way = Namespaces(version=os.uname().release, work=work, as_root=False)
    return None if confined((way,), Unconfined(work=work) if allow_host else None) is not way else Guard(work=work)


def confined(ways: Sequence[Sandbox], otherwise: Sandbox | None, weaker: Landlock | None = None) -> Sandbox:
    """Return the first of some ways that works, or another; errors as in `confine`.

    Args:
        ways: Sandboxes for everything.
        otherwise: Runs what no sandbox can; None to refuse it.
        weaker: Runs what needs nothing but its tree; None for nothing.
    """
    try:
        return first_working(ways)
    except ToolMissing as error:
        refusal = ToolMissing(
            f"code of packages and images is only run in a sandbox, and none works here: {error}",
            hint=f"{error.hint}; if you trust all packages, run them as yourself: --allow-host-builds",
        )
    if weaker is not None and not why_not(weaker):
        return weaker.for_all(otherwise, refusal)
    if otherwise is None:
        raise refusal
    return otherwise


def candidates(work: Path, search_path: str) -> tuple[Sandbox, ...]:
    """All ways that there could be here, the best first."""
    as_root = (True, False) if os.geteuid() == 0 else (False,)
    program = shutil.which("runc", path=search_path)
    told = _told(program) if program else ""
    version = told.partition("\n")[0].removeprefix("runc version ")
    return (
        *(
            Runc(program=program, version=version, work=work, as_root=root, filters="libseccomp" in told)
            for root in as_root
            if program
        ),
        *(Namespaces(version=os.uname().release, work=work, as_root=root) for root in as_root),
    )


def first_working(ways: Sequence[Sandbox]) -> Sandbox:
    """The first of some ways that works; errors as in `choose`."""
    reasons = []
    for way in ways:
        reason = why_not(way)
        if not reason:
            return way
        reasons.append(f"  {way.name}: {reason}")
    listing = "\n".join(dict.fromkeys(reasons))
    raise ToolMissing(f"nothing can run a command in an image without a daemon here\n{listing}", hint=_HINT)


def why_not(way: Sandbox) -> str:
    """Why a way does not work; empty when it does.

    It is asked for a program that is not there, in a tree that is empty: all else must have worked for it to find out.
    """
    with tempfile.TemporaryDirectory() as tree:
        Path(tree).chmod(0o755)
        try:
            task = Task(tree=Path(tree), command=(_NOT_THERE,), timeout=_SECONDS_TO_TRY, uid=FOREIGN, gid=FOREIGN)
            result = way.run(task)
        except (EnvbuilderError, OSError, subprocess.SubprocessError) as error:
            return str(error)
    if result.status == _NOT_FOUND:
        return ""
    return f"a trial ended with status {result.status}: {result.stderr.decode(errors='replace').strip()}"


def _told(program: str) -> str:
    try:
        said = wait_for((program, "--version"), timeout=_SECONDS_TO_TRY, environ={"PATH": os.defpath})
    except OSError:
        return ""
    return said.stdout.decode(errors="replace")
