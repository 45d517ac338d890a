"""The worker of a check across machines: in every Python, on ports of this host, without TensorFlow."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from envbuilder.core.observation import Seen, Unseen
from envbuilder.diagnostics.multi_node.facts import WorkerFacts, decode_worker
from envbuilder.diagnostics.probe.script import worker_source
from tests.interpreters.interpreters import interpreters

# The worker has no annotations.
cluster: Any = importlib.import_module("envbuilder.incontainer.multi_node.cluster")
PYTHONS = interpreters()
_LONG = "600"
"""Seconds of a wait that ends by an event."""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("worker") / "worker.py"
    file.write_bytes(worker_source())
    return file


@pytest.fixture
def addresses() -> Iterator[list[str]]:
    """Two addresses of this host; their ports are reserved by sockets that do not listen."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{each.getsockname()[1]}" for each in held]


class Started:
    """A worker that runs."""

    def __init__(self, script: Path, addresses: list[str], index: int, *more: str, **environ: str) -> None:
        python = environ.pop("python", sys.executable)
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [python, str(script), "--workers", ",".join(addresses), "--index", str(index), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**kept, **environ},
        )  # fmt: skip

    def facts(self) -> WorkerFacts:
        """Wait for its end, and return its facts."""
        out, err = self.process.communicate()
        assert out, err.decode()
        return decode_worker(out.decode(), "worker")


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parent.parent.name)
def test_two_workers_meet_in_every_python(script: Path, addresses: list[str], python: Path) -> None:
    both = [Started(script, addresses, index, "--wait", _LONG, python=str(python)) for index in (0, 1)]
    for index, facts in enumerate(each.facts() for each in both):
        [peer] = facts.peers
        assert (facts.index, peer.index, peer.error) == (index, 1 - index, None)
        assert peer.hello is not None
        assert peer.hello.workers == tuple(addresses)
        assert isinstance(facts.port, Seen)
        # TensorFlow is in no Python of pyenv.
        assert isinstance(facts.strategy, Unseen)
        assert "tensorflow" in facts.strategy.message


def test_a_taken_port_is_seen_at_once(script: Path, addresses: list[str]) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        host, port = cluster.host_and_port(addresses[0])
        other.bind((host, port))
        other.listen()
        facts = Started(script, addresses, 0, "--wait", _LONG).facts()
    assert isinstance(facts.port, Unseen)
    assert (facts.port.kind, facts.port.headline) == ("PortTaken", f"port {port} is in use by another program")


@pytest.mark.parametrize(
    ("address", "step", "kind"),
    [("127.0.0.1:{free}", "connect", "ECONNREFUSED"), ("no-such-host.invalid:{free}", "name", "EAI_")],
)
def test_a_worker_that_cannot_be_reached_is_told_with_the_step(
    script: Path, addresses: list[str], address: str, step: str, kind: str
) -> None:
    other = address.format(free=cluster.host_and_port(addresses[1])[1])
    worker = Started(script, [addresses[0], other], 0, "--wait", "1.5", "--require-result")
    error = worker.facts().peers[0].error
    assert error is not None
    assert (error.step, error.type[: len(kind)]) == (step, kind)
    assert worker.process.returncode == 1


def test_a_worker_that_waits_says_for_whom(script: Path, addresses: list[str]) -> None:
    worker = Started(script, addresses, 0, "--wait", "1.5", "--remind", "0.5")
    _, err = worker.process.communicate()
    expected = f"envbuilder: worker 0 waits for worker 1 at {addresses[1]}: ECONNREFUSED: "
    assert any(line.startswith(expected) for line in err.decode().splitlines())


def test_another_program_at_the_address_is_told(script: Path, addresses: list[str]) -> None:
    with socket.create_server(cluster.host_and_port(addresses[1])) as server:
        worker = Started(script, addresses, 0, "--wait", "3")
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            facts = worker.facts()
    error = facts.peers[0].error
    assert error is not None
    # A later attempt gets no answer.
    assert (error.step, error.type) in {("hello", "NotAWorker"), ("hello", "ETIMEDOUT")}


def test_a_killed_worker_stops_the_others_and_is_named(script: Path, addresses: list[str], tmp_path: Path) -> None:
    """TensorFlow is played by a module that never returns."""
    (tmp_path / "tensorflow.py").write_text(
        "import os, time\nname = os.environ['STARTED'] + os.environ['ENVBUILDER_WORKER']\n"
        "with open(name + 'part', 'w') as file:\n    file.write(str(os.getpid()))\n"
        "os.rename(name + 'part', name)\ntime.sleep(600)\n"
    )
    marks = [tmp_path / f"started{index}" for index in (0, 1)]
    environ = {"PYTHONPATH": str(tmp_path), "STARTED": str(tmp_path / "started")}
    both = [Started(script, addresses, index, "--wait", _LONG, "--grace", "0", **environ) for index in (0, 1)]
    while not all(mark.exists() for mark in marks):
        assert all(each.process.poll() is None for each in both)
        time.sleep(0.05)
    children = [int(mark.read_text()) for mark in marks]
    both[1].process.send_signal(signal.SIGKILL)
    facts = both[0].facts()
    both[1].process.communicate()
    while any(Path(f"/proc/{each}").exists() for each in children):
        time.sleep(0.05)
    [peer] = facts.peers
    assert peer.left is not None
    assert peer.bye is None
    assert isinstance(facts.strategy, Unseen)
    assert facts.strategy.message == "SIGABRT"


def test_a_worker_ends_with_its_input_if_it_is_told_to(script: Path, addresses: list[str]) -> None:
    worker = Started(script, addresses, 0, "--wait", _LONG, "--end-with-input")
    out, _ = worker.process.communicate()
    assert (worker.process.returncode, out) == (3, b"")


def test_facts_go_to_a_directory(script: Path, addresses: list[str], tmp_path: Path) -> None:
    worker = Started(script, addresses, 1, "--wait", "0.1", "--facts", str(tmp_path))
    assert worker.process.communicate()[0] == b""
    assert [file.name for file in tmp_path.iterdir()] == ["worker-1.json"]
    assert json.loads((tmp_path / "worker-1.json").read_bytes())["index"] == 1


def test_without_workers_the_three_ways_to_name_them_are_told(script: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in {"TF_CONFIG", "SLURM_PROCID"}}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=kept)
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("TF_CONFIG", "srun", "--workers"))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node1", ["node1"]),
        ("node[01-03,7],login", ["node01", "node02", "node03", "node7", "login"]),
        ("a[1-2]-ib,b", ["a1-ib", "a2-ib", "b"]),
        ("r[1-2]n[8-9]", ["r1n8", "r1n9", "r2n8", "r2n9"]),
    ],
)
def test_the_hosts_of_slurm_are_expanded(text: str, hosts: list[str]) -> None:
    assert cluster.hosts_of(text) == hosts


def test_the_tasks_of_slurm_are_numbered_node_by_node() -> None:
    environ = {
        "SLURM_PROCID": "3",
        "SLURM_JOB_NODELIST": "other",
        "SLURM_STEP_NODELIST": "n[1-3]",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
    }
    found = cluster.cluster_of(None, None, 5000, environ)
    assert found["workers"] == ["n1:5000", "n1:5001", "n2:5000", "n2:5001", "n3:5000"]
    assert found["config"]["task"] == {"type": "worker", "index": 3}


def test_a_chief_is_the_first_worker_and_tf_config_is_kept() -> None:
    config = {
        "cluster": {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1"]},
        "task": {"type": "worker", "index": 1},
    }
    found = cluster.cluster_of(None, None, 1, {"TF_CONFIG": json.dumps(config), "SLURM_PROCID": "0"})
    assert (found["workers"], found["index"], found["config"]) == (["c:1", "w:1", "w:2"], 2, config)


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"TF_CONFIG": "{"}, "TF_CONFIG is not usable"),
        ({"TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "ps", "index": 0}}'}, "no worker of"),
        ({"TF_CONFIG": '{"cluster": {"worker": ["a", "b:1"]}, "task": {"type": "worker", "index": 0}}'}, "HOST:PORT"),
        ({"SLURM_PROCID": "0"}, "SLURM_STEP_NODELIST"),
        (
            {"SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "a", "SLURM_TASKS_PER_NODE": "1"},
            "names 1 workers; two are the fewest",
        ),
    ],
)
def test_an_unusable_description_is_refused_with_the_reason(environ: dict[str, str], problem: str) -> None:
    found = ""
    try:
        given = cluster.cluster_of(None, None, 1, environ)
        for address in given["workers"]:
            cluster.host_and_port(address)
    except ValueError as error:
        found = str(error)
    assert problem in found


def test_an_ipv6_address_stands_in_brackets() -> None:
    assert cluster.host_and_port("[fd00::1]:80") == ("fd00::1", 80)
