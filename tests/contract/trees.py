"""A root file system of busybox, for running commands without an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.sandbox import Limits, Task

_BUSYBOX = Path("/bin/busybox")
_APPLETS = ("cat", "chmod", "echo", "false", "hostname", "id", "kill", "ls", "mkdir", "sh", "sleep", "touch", "true")
NOBODY = 65534
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""


def busybox_tree(folder: Path) -> Path:
    """Make a tree that everybody may read; it has no /tmp, /run, /proc, /dev or /sys."""
    for name in ("bin", "etc", "opt/deep"):
        (folder / name).mkdir(parents=True)
    shutil.copy(_BUSYBOX, folder / "bin/busybox")
    for applet in _APPLETS:
        (folder / "bin" / applet).symlink_to("busybox")
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
    (folder / "etc/data").write_text("data\n")
    (folder / "opt/deep/there").write_text("there\n")
    (folder / "var").symlink_to("opt")
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o755)
    folder.chmod(0o755)
    return folder


def as_nobody(task: Task, way: str, work: Path) -> RunResult:
    """Run a task in a Python that has no rights; gives what a sandbox there gives.

    Args:
        task: What to run.
        way: `runc` or `namespaces`.
        work: A folder that everybody may write to.
    """
    described = asdict(task) | {
        "tree": str(task.tree),
        "files": [[path, content.hex()] for path, content in task.files],
    }
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", PYTHON, "-m", __name__]
    done = subprocess.run(
        [*command, way, str(work)],
        input=json.dumps(described).encode(),
        capture_output=True,
        check=True,
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
    )
    told = json.loads(done.stdout)
    return RunResult(
        status=told["status"],
        stdout=bytes.fromhex(told["stdout"]),
        stderr=bytes.fromhex(told["stderr"]),
        timed_out=told["timed_out"],
        copied=None if told["copied"] is None else bytes.fromhex(told["copied"]),
    )


def _main(way: str, work: str, described: str) -> None:
    from envbuilder.oci.runtime.selection import candidates  # noqa: PLC0415

    plain = json.loads(described)
    for name in ("command", "env", "mounts", "files"):
        plain[name] = tuple(tuple(item) if isinstance(item, list) else item for item in plain[name])
    plain["files"] = tuple((path, bytes.fromhex(content)) for path, content in plain["files"])
    task = Task(**(plain | {"tree": Path(plain["tree"]), "limits": Limits(**plain["limits"])}))
    sandbox = next(one for one in candidates(Path(work), "/usr/sbin:/usr/bin:/sbin:/bin") if one.name == way)
    result = sandbox.run(task)
    print(
        json.dumps(
            {
                "status": result.status,
                "stdout": result.stdout.hex(),
                "stderr": result.stderr.hex(),
                "timed_out": result.timed_out,
                "copied": None if result.copied is None else result.copied.hex(),
            }
        )
    )


if __name__ == "__main__":
    import sys

    _main(sys.argv[1], sys.argv[2], sys.stdin.read())
