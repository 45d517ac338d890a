"""Sandbox for the interpreter that a trusted program starts.

uv needs the network, credentials and its cache; the build scripts of source distributions, which it runs by an
interpreter of this host, must not have access to them. In a mount namespace for uv, the interpreter's file is covered
by a script that enters the sandbox and continues there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envbuilder.oci.runtime.host_tree import host_tree
from envbuilder.oci.runtime.namespaces import INSIDE, described
from envbuilder.oci.runtime.outputs import scratch
from envbuilder.oci.runtime.root_mounts import make_skeleton
from envbuilder.oci.runtime.sandbox import SCRIPT_LIMITS, Task

_SCRIPT = """\
#!{runner} -IS
import os, sys
sys.path.append({folder!r})
import container_init
container_init.continue_inside({task!r}, sys.argv, dict(os.environ))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Sandbox for the interpreter that a program starts, made of kernel namespaces."""

    work: Path

    @contextmanager
    def covering(self, interpreter: Path, shared: Path) -> Iterator[tuple[str, ...]]:
        """Prepare a sandbox for an interpreter.

        Args:
            interpreter: Its file, with links resolved.
            shared: The only writable directory of this host.

        Returns:
            Words to put before the command of the program, which must be an absolute path.
        """
        with scratch(self.work) as folder:
            kept = _kept_copy(interpreter, folder / "python")
            task = folder / "task.json"
            task.write_text(json.dumps(self._task(interpreter, kept, shared, folder)), "utf-8")
            script = folder / "script"
            script.write_text(
                _SCRIPT.format(runner=_runner(interpreter, kept), folder=str(INSIDE.parent), task=str(task)), "utf-8"
            )
            script.chmod(0o755)
            cover = folder / "cover.json"
            cover.write_text(
                json.dumps({"interpreter": str(interpreter), "kept": str(kept), "script": str(script)}), "utf-8"
            )
            yield (sys.executable, "-I", "-S", str(INSIDE), "--cover", str(cover))

    def _task(self, interpreter: Path, kept: Path, shared: Path, folder: Path) -> dict[str, object]:
        tree = folder / "tree"
        tree.mkdir()
        mounts = host_tree(tree, interpreter, interpreter.parent.parent)
        task = Task(
            tree=tree,
            command=(str(interpreter),),
            uid=os.geteuid(),
            gid=os.getegid(),
            mounts=(*mounts, (str(kept), str(interpreter))),
            shared=((str(shared), str(shared)),),
            limits=SCRIPT_LIMITS,
        )
        inside = folder / "inside"
        inside.mkdir()
        return described(task, make_skeleton(task, inside), as_root=False)


def _runner(interpreter: Path, kept: Path) -> Path:
    """Return the Python that enters the sandbox: the running one, at a path where it is not covered.

    The interpreter itself may be too old (2016) to run the module that enters the sandbox.
    """
    ours = Path(sys.executable).resolve()
    return kept if ours == interpreter.resolve() else ours


def _kept_copy(interpreter: Path, home: Path) -> Path:
    """Make a path at which the interpreter stays reachable and finds its library."""
    (home / "bin").mkdir(parents=True)
    (home / "lib").symlink_to(interpreter.parent.parent / "lib")
    kept = home / "bin" / interpreter.name
    kept.touch()
    return kept
