"""Start a Slurm of several nodes on this machine, run a command in it, and end it.

Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge. GPUs are character devices in the directory
of the cluster: the scheduler allocates them, no driver opens them. Everything is below that directory and on loopback.

    python -m tools.slurm_cluster DIRECTORY 'NAME:GPUS:FEATURE,…' … [plugin=FILE] [NAME=VALUE …] -- COMMAND …

A plugin is one of SPANK, such as pyxis. NAME=VALUE is a further line of slurm.conf, such as Epilog=FILE, which runs on
a node after each job. Names of nodes that the host resolves let workers reach each other.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

NVIDIA_DEVICES = 195
"""Major number of NVIDIA's character devices: https://www.kernel.org/doc/Documentation/admin-guide/devices.txt."""
_FIRST_PORT = 17000
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode:
    """One made-up node.

    Attributes:
        name: Its name.
        gpus: Number of GPUs.
        features: Features for `--constraint`.
    """

    name: str
    gpus: int
    features: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> SlurmNode:
        """Return the node that `NAME:GPUS:FEATURE,FEATURE` describes."""
        name, gpus, features = text.split(":", 2)
        return cls(name=name, gpus=int(gpus), features=tuple(each for each in features.split(",") if each))


@contextmanager
def slurm_cluster(
    folder: Path,
    nodes: Sequence[SlurmNode],
    *,
    plugins: Sequence[str] = (),
    more: Sequence[str] = (),
    port: int = _FIRST_PORT,
) -> Iterator[dict[str, str]]:
    """Run a cluster; yield the environment variables of its clients.

    Args:
        folder: Directory for its files; it is emptied.
        nodes: The nodes.
        plugins: Plugins of SPANK.
        more: Further lines of slurm.conf.
        port: First of as many ports as there are nodes, and one.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("spool", "log", "munge", "dev"):
        (folder / name).mkdir(parents=True)
    _configure(folder, nodes, more, port)
    (folder / "plugstack.conf").write_text("".join(f"required {each}\n" for each in plugins), encoding="utf-8")
    variables = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    with ExitStack() as stack:
        stack.enter_context(_munge(folder))
        stack.enter_context(_process(("slurmctld", "-D", "-i"), folder / "log/controller.out", variables))
        for node in nodes:
            command = ("slurmd", "-D", "-N", node.name)
            stack.enter_context(_process(command, folder / f"log/{node.name}.out", variables))
        _wait(variables, len(nodes), folder)
        yield variables


def _configure(folder: Path, nodes: Sequence[SlurmNode], more: Sequence[str], port: int) -> None:
    host = socket.gethostname()
    lines = [
        f"ClusterName=envbuilder{port}",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={port}",
        "SlurmUser=root",
        "SlurmdUser=root",
        f"AuthInfo=socket={folder}/munge/socket",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmdPidFile={folder}/%n.pid",
        f"SlurmdLogFile={folder}/log/%n.log",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"StateSaveLocation={folder}/spool",
        "ReturnToService=2",
        "GresTypes=gpu",
        "MpiDefault=none",
        f"PlugStackConfig={folder}/plugstack.conf",
        *more,
    ]
    gres: list[str] = []
    for number, node in enumerate(nodes, 1):
        devices = [_device(folder / f"dev/{node.name}-nvidia{index}", index) for index in range(node.gpus)]
        own = f" Gres=gpu:{node.gpus}" if devices else ""
        features = f" Feature={','.join(node.features)}" if node.features else ""
        lines.append(
            f"NodeName={node.name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + number} CPUs=4 RealMemory=8000"
            f"{own}{features}"
        )
        gres += [f"NodeName={node.name} Name=gpu File={device}" for device in devices]
    lines.append(f"PartitionName=all Nodes={','.join(node.name for node in nodes)} Default=YES State=UP MaxTime=60")
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "gres.conf").write_text("\n".join(gres) + "\n", encoding="utf-8")
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")


def _device(path: Path, number: int) -> Path:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(NVIDIA_DEVICES, number))
    return path


@contextmanager
def _munge(folder: Path) -> Iterator[None]:
    key = folder / "munge/key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "munge").chmod(0o755)
    command = (
        "munged",
        "--foreground",
        "--force",
        f"--socket={folder}/munge/socket",
        f"--key-file={key}",
        f"--pid-file={folder}/munge/pid",
        f"--log-file={folder}/munge/log",
        f"--seed-file={folder}/munge/seed",
    )
    with _process(command, folder / "log/munged.out", dict(os.environ)):
        deadline = time.monotonic() + _START_SECONDS
        while not (folder / "munge/socket").exists():
            if time.monotonic() > deadline:
                raise SystemExit(f"munged does not start: see {folder}/log/munged.out")
            time.sleep(0.1)
        yield


@contextmanager
def _process(command: Sequence[str], log: Path, variables: dict[str, str]) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=variables)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _wait(variables: dict[str, str], count: int, folder: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        shown = subprocess.run(
            ("sinfo", "-h", "-N", "-o", "%t"), env=variables, capture_output=True, text=True, check=False
        )
        if shown.stdout.split() == ["idle"] * count:
            return
        time.sleep(0.3)
    raise SystemExit(f"not all nodes are idle after {_START_SECONDS:.0f} s: see {folder}/log")


def main(arguments: Sequence[str]) -> int:
    """Run the command in a cluster and return its status."""
    folder, *rest = arguments
    split = rest.index("--")
    nodes = [SlurmNode.parse(each) for each in rest[:split] if "=" not in each]
    named = [each for each in rest[:split] if "=" in each]
    plugins = [each.removeprefix("plugin=") for each in named if each.startswith("plugin=")]
    more = [each for each in named if not each.startswith("plugin=")]
    with slurm_cluster(Path(folder).resolve(), nodes, plugins=plugins, more=more) as variables:
        return subprocess.run(rest[split + 1 :], env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
