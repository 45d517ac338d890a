"""Scripts that run the probe on the nodes of a cluster and collect the facts in a directory."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.doctor import HARDWARE
from envbuilder.diagnostics.probe.requests import launch
from envbuilder.image.dockerfile.templates import environment

_COLUMNS = 116


class Launcher(StrEnum):
    """The program that starts the probe on nodes.

    `slurm`: srun. `kubernetes`: kubectl and a DaemonSet. `ssh`: ssh. `local`: none; the script runs on the node.
    """

    SLURM = "slurm"
    KUBERNETES = "kubernetes"
    SSH = "ssh"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeScript:
    """A script to write.

    Attributes:
        nodes: Names of the expected nodes; empty for those that the scheduler lists.
        directory: Directory of the facts unless the call names another.
        image: Image with a Python for the pods of Kubernetes; empty otherwise.
        runtime_class: Runtime class of the pods that shows them the GPUs; empty for the default of the cluster.
    """

    launcher: Launcher
    nodes: tuple[str, ...] = ()
    directory: str = "facts"
    image: str = ""
    runtime_class: str = ""


def render_script(script: ProbeScript, templates: Path) -> str:
    """Return a script for bash.

    Raises:
        UsageError: `ssh` without nodes, or `kubernetes` without an image.
    """
    if script.launcher is Launcher.SSH and not script.nodes:
        raise UsageError("--on ssh requires --nodes", hint="envbuilder fleet probe --on ssh --nodes 'gpu[001-212]'")
    if (script.launcher is Launcher.KUBERNETES) != bool(script.image):
        raise UsageError(
            "--on kubernetes requires --image, and no other target accepts it",
            hint="specify an image with Python 3.5 or later: --image HOST/NAME@sha256:…",
        )
    _, _, launcher, probe, request = launch("python", HARDWARE)
    template = environment(templates / "fleet").get_template(f"{script.launcher.value}.sh.j2")
    return template.render(
        nodes=script.nodes,
        directory=script.directory,
        image=script.image,
        runtime_class=script.runtime_class,
        launcher=launcher.strip(),
        probe="\n".join(textwrap.wrap(probe, _COLUMNS)),
        request=request,
    )
