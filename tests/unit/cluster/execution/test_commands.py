"""A worker refuses what another version sends; the program of a command ends with its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import envbuilder
from envbuilder.cluster.execution.commands import run_item
from envbuilder.cluster.execution.executor import FailedItem, WorkItem


def test_a_worker_of_another_version_refuses_the_command() -> None:
    outcome = run_item(WorkItem(name="a", arguments=("list",), version="0.0"))
    assert isinstance(outcome, FailedItem)
    expected = f"the worker has envbuilder {envbuilder.__version__}, this machine 0.0; install the same version on both"
    assert (outcome.status, outcome.reason) == (2, expected)


def test_a_command_whose_worker_is_gone_does_not_start() -> None:
    command = [sys.executable, "-m", "envbuilder.cluster.execution.command_process", str(os.getpid() + 1), "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGTERM, "")
