"""Workers on this host: what they get, and what is left when one is killed or all are interrupted."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from envbuilder.diagnostics.multi_node.local_run import VirtualHost, WorkerLimits, run_workers, worker_request
from envbuilder.diagnostics.probe.script import worker_source
from envbuilder.oci.runtime.command import RunRequest, RunResult
from tests.unit.diagnostics.multi_node.recorded import FOLDER

_LIMITS = WorkerLimits(meeting=60.0, tensorflow=300.0)


@dataclass
class FakeContainers:
    """Runs a container: writes recorded facts, or is killed where there are none."""

    case: str
    index: int
    requests: list[RunRequest] = field(default_factory=list)

    def run(self, request: RunRequest) -> RunResult:
        self.requests.append(request)
        file = FOLDER / self.case / f"worker-{self.index}.json"
        if file.is_file():
            return RunResult(status=0, stdout=file.read_bytes(), stderr=b"I tensorflow/core", timed_out=False)
        return RunResult(status=137, stdout=b"", stderr=b"allocating\nKilled\n", timed_out=False)


@dataclass
class Interrupted:
    """Runs a container until it is stopped; the first one is interrupted."""

    stopped: threading.Event
    first: bool

    def run(self, request: RunRequest) -> RunResult:
        if self.first:
            raise KeyboardInterrupt
        assert request.command
        assert self.stopped.wait(60)
        return RunResult(status=3, stdout=b"", stderr=b"", timed_out=False)


def _hosts(*runners: FakeContainers | Interrupted) -> list[VirtualHost]:
    return [
        VirtualHost(name=f"worker-{index}", address=f"10.83.0.{index + 1}", port=29500, runner=runner)
        for index, runner in enumerate(runners)
    ]


def test_a_worker_gets_names_addresses_and_its_number() -> None:
    request = worker_request("image", _hosts(FakeContainers("never", 0), FakeContainers("never", 1)), 1, _LIMITS)
    files = dict(request.files)
    assert files["/etc/hosts"] == b"127.0.0.1 localhost\n10.83.0.1 worker-0\n10.83.0.2 worker-1\n"
    assert files[request.command[1]] == worker_source()
    words = " ".join(request.command)
    assert "--workers worker-0:29500,worker-1:29500 --index 1 --end-with-input" in words
    assert "--wait 60.0 --limit 300.0" in words
    assert request.timeout > 360.0


def test_the_facts_of_all_workers_come_back_in_order() -> None:
    told: list[str] = []
    hosts = _hosts(FakeContainers("good-2.15", 0), FakeContainers("good-2.15", 1))
    found = run_workers("image", hosts, _LIMITS, lambda: told.append("stopped"), told.append)
    assert [each.facts.index for each in found] == [0, 1]
    assert found[1].document == (FOLDER / "good-2.15" / "worker-1.json").read_bytes()
    assert told == []


def test_a_killed_worker_is_told_with_its_last_line() -> None:
    told: list[str] = []
    hosts = _hosts(FakeContainers("killed", 0), FakeContainers("killed", 1))
    found = run_workers("image", hosts, _LIMITS, lambda: None, told.append)
    assert [each.facts.index for each in found] == [0]
    assert told == ["worker-1 ended with status 137, without facts: Killed"]


def test_an_interruption_stops_the_others() -> None:
    stopped = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        run_workers(
            "image", _hosts(Interrupted(stopped, True), Interrupted(stopped, False)), _LIMITS, stopped.set, print
        )
    assert stopped.is_set()
