"""`multi-node`: the worker as a file, and a report from the facts of a cluster."""

from __future__ import annotations

import json
import shutil

from envbuilder.diagnostics.probe.script import worker_source
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.multi_node.recorded import FOLDER


def test_the_worker_is_written_as_one_file(envbuilder: CommandLine) -> None:
    assert envbuilder("multi-node", "worker", "-o", "worker.py").status == 0
    assert (envbuilder.folder / "worker.py").read_bytes() == worker_source()
    assert envbuilder("multi-node", "worker").stdout.encode() == worker_source()


def test_a_directory_of_facts_is_judged(envbuilder: CommandLine) -> None:
    ended = envbuilder("multi-node", "check", str(FOLDER / "good-2.15"), "--require", "--json", "-o", "report.html")
    report = json.loads(ended.stdout)
    assert (ended.status, report["tier"], report["passed"]) == (0, "multi-node", True)
    assert "multi-node" in (envbuilder.folder / "report.html").read_text(encoding="utf-8")


def test_a_fault_ends_with_status_1_and_its_remedy(envbuilder: CommandLine) -> None:
    ended = envbuilder("multi-node", "check", str(FOLDER / "taken"))
    assert ended.status == 1
    assert "ss -ltnp" in ended.stdout


def test_logs_of_containers_are_files_too(envbuilder: CommandLine) -> None:
    for index in (0, 1):
        text = (FOLDER / "good-2.15" / f"worker-{index}.json").read_text(encoding="utf-8")
        envbuilder.write(f"pod-{index}.log", f"I tensorflow/core\n{text}Killed\n")
    assert envbuilder("multi-node", "check", "pod-0.log", "pod-1.log").status == 0


def test_a_directory_without_facts_is_a_usage_error(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "empty").mkdir()
    ended = envbuilder("multi-node", "check", "empty")
    assert ended.status == 2
    assert "--facts DIRECTORY" in ended.stderr


def test_the_facts_of_two_runs_are_not_mixed(envbuilder: CommandLine) -> None:
    shutil.copy(FOLDER / "name" / "worker-0.json", envbuilder.folder / "worker-9.json")
    ended = envbuilder("multi-node", "check", str(FOLDER / "name" / "worker-0.json"), "worker-9.json")
    assert ended.status == 2
    assert "both of worker 0" in ended.stderr


def test_an_image_that_was_not_assembled_is_refused_with_the_command(envbuilder: CommandLine) -> None:
    ended = envbuilder("multi-node", "run", "tf-2.15-cpu")
    assert ended.status == 2
    assert "envbuilder build tf-2.15-cpu --engine assemble" in ended.stderr
