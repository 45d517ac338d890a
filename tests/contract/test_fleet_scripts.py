"""The scripts of `fleet probe` against programs that behave as srun, ssh and kubectl; the probe is the real one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envbuilder.cluster.fleet.collection import NodeFacts, SilentNode, open_collection
from envbuilder.cluster.fleet.probe_scripts import Launcher, ProbeScript, render_script
from tests.fakes.catalogs import ROOT

# Each is called as the script calls the real one; the node `n2` does not answer.
SINFO = """#!/bin/sh
case "$*" in
  *%G*) case "$*" in *nodes=n1*) echo 'gpu:a100:4(S:0-1),shard:8' ;; *) echo '(null)' ;; esac ;;
  *%R*) echo batch ;;
  *%T*) echo 'state of the node: down (fan)' ;;
  *) printf 'n2\\nn1\\nn1\\n' ;;
esac
"""
SRUN = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in *nodelist=n2*) echo 'srun: error: busy' >&2; exit 1 ;; esac
while [ "$1" != sh ]; do shift; done
exec "$@"
"""
SSH = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
while [ "$1" != sh ]; do node=$1; shift; done
[ "$node" = n2 ] && { echo 'ssh: connect to host n2 port 22: No route to host' >&2; exit 255; }
exec "$@"
"""
# A cluster with a pod on n1, one on n2 whose probe found no Python, and a node n3 without a pod.
KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in
  'get nodes'*) printf 'node/n1\\nnode/n2\\nnode/n3\\n' ;;
  'create configmap'*) cp "${4#*node.sh=}" "$CLUSTER/node.sh" ;;
  'apply'*) cat > /dev/null < /dev/null ;;
  'get pods'*) printf 'n1 probe-a\\nn2 probe-b\\n' ;;
  'get pod probe-b'*) echo 'no Python 2.7 and no Python 3.5 or later on this node' ;;
  'get pod '*) echo ;;
  'logs probe-a'*) sh "$CLUSTER/node.sh" ;;
  'logs probe-b'*) echo 'Error: cannot run' ;;
esac
"""


def run(folder: Path, script: str, programs: dict[str, str], **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script with these programs first on PATH; the directory of the facts is `facts`."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for name, text in programs.items():
        (bin_folder / name).write_text(text, encoding="utf-8")
        (bin_folder / name).chmod(0o755)
    (folder / "script.sh").write_text(script, encoding="utf-8")
    return subprocess.run(
        ["bash", "script.sh", "facts"], cwd=folder, capture_output=True, text=True, check=True, timeout=300,
        env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "CALLS": str(folder / "calls"),
             "CLUSTER": str(folder), **environ},
    )  # fmt: skip


def rendered(launcher: Launcher, *nodes: str, image: str = "") -> str:
    return render_script(ProbeScript(launcher=launcher, nodes=nodes, image=image), ROOT / "templates")


def outcomes(folder: Path) -> dict[str, str]:
    """The reason for each silent node; `facts` for a node that answered while its run was measured."""
    collection = open_collection(folder / "facts")
    assert collection.has_list
    found = {}
    for node in collection.nodes:
        match collection.read(node):
            case SilentNode(why=why):
                found[node] = why
            case NodeFacts(facts=facts, run=ran):
                assert ran
                assert ran.status == 0
                assert facts.machine
                found[node] = "facts"
            case other:
                pytest.fail(str(other))
    return found


def test_slurm_probes_each_node_in_a_job_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, rendered(Launcher.SLURM), {"sinfo": SINFO, "srun": SRUN}, SRUN_OPTIONS="--account=a --qos=b")

    assert outcomes(tmp_path) == {"n1": "facts", "n2": "srun: error: busy; state of the node: down (fan)"}
    assert "1 of 2 nodes answered" in done.stdout
    calls = sorted((tmp_path / "calls").read_text(encoding="utf-8").splitlines(), key=lambda line: "n2" in line)
    assert "--partition=batch --gres=gpu:4 --account=a --qos=b" in calls[0]
    assert "--gres" not in calls[1], "a job on a node without GPUs asks for none"


def test_ssh_probes_the_named_nodes(tmp_path: Path) -> None:
    run(tmp_path, rendered(Launcher.SSH, "n1", "n2"), {"ssh": SSH}, SSH_OPTIONS="-p 2222")

    assert outcomes(tmp_path) == {"n1": "facts", "n2": "ssh: connect to host n2 port 22: No route to host"}
    assert "-p 2222 n1 sh -s" in (tmp_path / "calls").read_text(encoding="utf-8")


def test_a_node_that_is_silent_the_second_time_keeps_no_old_facts(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "n2.json").write_text("{}", encoding="utf-8")
    run(tmp_path, rendered(Launcher.SSH, "n2"), {"ssh": SSH})

    assert list(outcomes(tmp_path)) == ["n2"]
    assert not (tmp_path / "facts" / "n2.json").exists()


def test_kubernetes_reads_the_log_of_a_pod_on_each_node_and_removes_what_it_made(tmp_path: Path) -> None:
    run(tmp_path, rendered(Launcher.KUBERNETES, image="python:3"), {"kubectl": KUBECTL})

    assert outcomes(tmp_path) == {
        "n1": "facts",
        "n2": "no Python 2.7 and no Python 3.5 or later on this node",
        "n3": "no pod was started on this node",
    }
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[-1].startswith("delete --ignore-not-found --wait=false daemonset/envbuilder-fleet-probe configmap/")


def test_a_script_for_the_node_itself_uses_its_name(tmp_path: Path) -> None:
    run(tmp_path, rendered(Launcher.LOCAL, "n1", "n2"), {}, NODE="n1")

    assert outcomes(tmp_path) == {"n1": "facts", "n2": "no answer: there is no file of it in the directory"}


def test_a_node_without_a_python_says_so(tmp_path: Path) -> None:
    needed = ("bash", "cat", "date", "env", "mkdir", "mktemp", "mv", "rm", "sh", "tail", "timeout", "wc", "xargs")
    (tmp_path / "few").mkdir()
    for name in needed:
        (tmp_path / "few" / name).symlink_to(Path("/usr/bin", name))
    run(tmp_path, rendered(Launcher.LOCAL, "n1"), {}, NODE="n1", PATH=str(tmp_path / "few"))

    assert outcomes(tmp_path) == {"n1": "no Python 2.7 and no Python 3.5 or later on this node"}
