"""Selection of the sandbox that works on this machine, by a trial run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from envbuilder.core.errors import EnvbuilderError, ToolMissing
from envbuilder.oci.runtime.interpreter_guard import Guard
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.namespaces import Namespaces
from envbuilder.oci.runtime.networks import in_network
from envbuilder.oci.runtime.processes import wait_for
from envbuilder.oci.runtime.runc import Runc
from envbuilder.oci.runtime.sandbox import FOREIGN, JoinedNetwork, Sandbox, Task
from envbuilder.oci.runtime.unconfined import Unconfined

S = TypeVar("S", bound=Sandbox)
_SECONDS_TO_TRY = 20.0
_NOT_THERE = "/envbuilder-tries"
_NOT_FOUND = 127
_HINT = (
    "apt-get install runc, enable user namespaces (sysctl user.max_user_namespaces, and "
    "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or use --engine docker"
)


def choose(work: Path, search_path: str) -> Sandbox:
    """Return the first working sandbox: runc as root, rootless runc, namespaces as root, rootless namespaces.

    Args:
        work: For files of runs; made when it is missing.
        search_path: Directories to search for programs, as in PATH.

    Raises:
        ToolMissing: None works; states the reason for each.
    """
    return first_working(candidates(work, search_path))


def joining(work: Path, search_path: str, network: JoinedNetwork) -> Sandbox:
    """Return the first sandbox that can run commands in a network namespace; arguments as for `choose`.

    Raises:
        ToolMissing: None can; states the reason for each.
    """
    owned = bool(network.accounts)
    ways = [way for way in candidates(work, search_path) if _joins(way, owned=owned)]
    return first_working([in_network(way, network) for way in ways]).sandbox


def _joins(way: Sandbox, *, owned: bool) -> bool:
    """Return True for a sandbox with the privileges that a network namespace needs; runc needs those of root."""
    match way:
        case Runc(as_root=as_root):
            return as_root and not owned
        case Namespaces(as_root=as_root):
            return as_root is not owned
        case _:
            return False


def confine(work: Path, search_path: str, *, allow_host: bool) -> Sandbox:
    """Return the sandbox for untrusted code that works on this machine, or this machine itself if that is allowed.

    `work` and `search_path` as for `choose`.

    Without user namespaces, the interpreter of an image is confined by Landlock, and only build scripts of packages
    are refused.

    Raises:
        ToolMissing: There is no sandbox, and `allow_host` is not set.
    """
    otherwise = Unconfined(work=work) if allow_host else None
    return confined(candidates(work, search_path), otherwise, Landlock(work=work))


def guard(work: Path, *, allow_host: bool) -> Guard | None:
    """Return the sandbox for the build scripts that uv runs; None to run them as the caller.

    It needs user namespaces. Errors as in `confine`.
    """
    way = Namespaces(version=os.uname().release, work=work, as_root=False)
    return None if confined((way,), Unconfined(work=work) if allow_host else None) is not way else Guard(work=work)


def confined(ways: Sequence[Sandbox], otherwise: Sandbox | None, weaker: Landlock | None = None) -> Sandbox:
    """Return the first working sandbox, or a fallback; errors as in `confine`.

    Args:
        ways: Sandboxes for everything.
        otherwise: Runs commands if no sandbox works; None to refuse them.
        weaker: Runs commands that need nothing but their tree; None for none.
    """
    try:
        return first_working(ways)
    except ToolMissing as error:
        refusal = ToolMissing(
            f"code of packages and images runs only in a sandbox, and none is available: {error}",
            hint=f"{error.hint}; if you trust all packages, run them with your own permissions: --allow-host-builds",
        )
    if weaker is not None and not why_not(weaker):
        return weaker.for_all(otherwise, refusal)
    if otherwise is None:
        raise refusal
    return otherwise


def candidates(work: Path, search_path: str) -> tuple[Runc | Namespaces, ...]:
    """Return all sandboxes for this machine, the best first."""
    as_root = (True, False) if os.geteuid() == 0 else (False,)
    program = shutil.which("runc", path=search_path)
    version_output = _version_output(program) if program else ""
    version = version_output.partition("\n")[0].removeprefix("runc version ")
    return (
        *(
            Runc(program=program, version=version, work=work, as_root=root, filters="libseccomp" in version_output)
            for root in as_root
            if program
        ),
        *(Namespaces(version=os.uname().release, work=work, as_root=root) for root in as_root),
    )


def first_working(ways: Sequence[S]) -> S:
    """Return the first working sandbox; errors as in `choose`."""
    reasons = []
    for way in ways:
        reason = why_not(way)
        if not reason:
            return way
        reasons.append(f"  {way.name}: {reason}")
    listing = "\n".join(dict.fromkeys(reasons))
    raise ToolMissing(f"this machine cannot run a command in an image without a daemon\n{listing}", hint=_HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSandbox:
    """A sandbox for a command that a user follows.

    Attributes:
        as_root: Whether users in it are those of this host.
        read_only: Why it cannot change images; empty if it can.
    """

    sandbox: Sandbox
    as_root: bool
    read_only: str


def choose_writable(work: Path, search_path: str, changes: Path) -> ChosenSandbox:
    """Return the first sandbox that can change images, else the first that works; errors as in `choose`.

    Nothing is left in `changes`, which will receive the changes; other arguments as for `choose`.

    Namespaces come first: they give a command the caller's uid, also without root privileges, and an init.
    """
    ways = sorted(candidates(work, search_path), key=lambda way: not isinstance(way, Namespaces))
    way, read_only = writable(ways, changes)
    return ChosenSandbox(sandbox=way, as_root=way.as_root, read_only=read_only)


def writable(ways: Sequence[S], changes: Path) -> tuple[S, str]:
    """Return the first sandbox that can change images, else the first that works and why it cannot change them."""
    reasons = list[str]()
    for way in ways:
        reason = why_not(way, changes)
        if not reason:
            return way, ""
        reasons.append(reason)
    # The last words are those of the kernel; before them stands the call with all its paths.
    return first_working(ways), f"no overlay can be mounted in {changes.parent} ({reasons[0].rpartition(': ')[2]})"


def why_not(way: Sandbox, changes: Path | None = None) -> str:
    """Return the reason why a sandbox does not work, or cannot make changes in a directory; empty if it works.

    The trial runs a missing program in an almost empty tree: status 127 shows that everything else has worked.
    """
    with tempfile.TemporaryDirectory(dir=changes, prefix=".trial-") as trial:
        tree, changed = Path(trial, "tree"), Path(trial, "changes")
        (tree / "opt").mkdir(parents=True)
        changed.mkdir()
        for folder in (trial, tree):
            Path(folder).chmod(0o755)
        try:
            task = Task(
                tree=tree,
                command=(_NOT_THERE,),
                timeout=_SECONDS_TO_TRY,
                uid=FOREIGN,
                gid=FOREIGN,
                changes=changed if changes else None,
            )
            result = way.run(task)
        except (EnvbuilderError, OSError, subprocess.SubprocessError) as error:
            return str(error)
    if result.status == _NOT_FOUND:
        return ""
    return f"a trial exited with status {result.status}: {result.stderr.decode(errors='replace').strip()}"


def _version_output(program: str) -> str:
    try:
        result = wait_for((program, "--version"), timeout=_SECONDS_TO_TRY, environ={"PATH": os.defpath})
    except OSError:
        return ""
    return result.stdout.decode(errors="replace")
