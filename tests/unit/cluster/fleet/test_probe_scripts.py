"""Scripts that probe nodes: they parse, they hold the probe, and nothing of a name is run by a shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from envbuilder.cluster.fleet.probe_scripts import Launcher, ProbeScript, render_script
from envbuilder.core.errors import UsageError
from tests.fakes.catalogs import ROOT

TEMPLATES = ROOT / "templates"
IMAGE = "registry.example/team/python@sha256:" + "0" * 64


def script(launcher: Launcher, nodes: tuple[str, ...] = ("n1", "n2"), **others: str) -> str:
    image = IMAGE if launcher is Launcher.KUBERNETES else ""
    return render_script(ProbeScript(launcher=launcher, nodes=nodes, image=image, **others), TEMPLATES)


@pytest.mark.parametrize("launcher", Launcher)
def test_every_script_parses(launcher: Launcher, tmp_path: Path) -> None:
    file = tmp_path / "script.sh"
    file.write_text(script(launcher, directory="a b"), encoding="utf-8")

    subprocess.run(["bash", "-n", file], check=True)
    assert "DIRECTORY=${1:-'a b'}" in file.read_text(encoding="utf-8")


def test_the_daemon_set_is_one_document_with_an_unprivileged_pod() -> None:
    text = script(Launcher.KUBERNETES, runtime_class="nvidia")
    manifest = yaml.safe_load(text.partition("<<'END_OF_MANIFEST'\n")[2].partition("END_OF_MANIFEST")[0])
    pod = manifest["spec"]["template"]["spec"]

    assert manifest["kind"] == "DaemonSet"
    assert manifest["spec"]["selector"]["matchLabels"] == manifest["spec"]["template"]["metadata"]["labels"]
    assert pod["runtimeClassName"] == "nvidia"
    assert {each["image"] for each in (*pod["initContainers"], *pod["containers"])} == {IMAGE}
    assert all(
        each["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        for each in (*pod["initContainers"], *pod["containers"])
    )


def test_ssh_needs_a_list_of_nodes() -> None:
    with pytest.raises(UsageError, match="requires --nodes"):
        script(Launcher.SSH, ())


@pytest.mark.parametrize(("launcher", "image"), [(Launcher.KUBERNETES, ""), (Launcher.SLURM, IMAGE)])
def test_an_image_belongs_to_kubernetes(launcher: Launcher, image: str) -> None:
    with pytest.raises(UsageError, match="--image"):
        render_script(ProbeScript(launcher=launcher, nodes=("n1",), image=image), TEMPLATES)
