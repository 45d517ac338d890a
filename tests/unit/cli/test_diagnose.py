"""`diagnose`: words for people, a document for programs, exit status 0 once the log was read."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from envbuilder.lock.create import lock
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.logs.logs import CUDNN_MISSING, OOM

FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"
NOISE = "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node"


def test_the_cause_is_said_with_proof_and_fix(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", f"{NOISE}\n{CUDNN_MISSING}\n")
    ended = envbuilder("diagnose", "some.log")
    assert ended.status == 0
    assert "cudnn-missing, almost certain" in ended.stdout
    assert "2 | " in ended.stdout
    assert "Harmless messages in 1 line: numa." in ended.stdout


def test_the_document_has_the_promised_form(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", f"{NOISE}\n{OOM}\n")
    document = json.loads(envbuilder("diagnose", "some.log", "--json").stdout)
    assert document["schema"] == 1
    first = document["causes"][0]
    assert (first["class"], first["evidence"]) == ("oom-batch-too-large", [2])
    assert 0 < first["confidence"] < 1
    assert isinstance(first["fix"], str)
    assert document["noise"] == [{"id": "numa", "lines": 1, "first": 1, "why": document["noise"][0]["why"]}]


def test_standard_input_is_read(envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(OOM.encode())))
    assert "oom-batch-too-large" in envbuilder("diagnose", "-").stdout


def test_nothing_found_is_said_and_is_no_error(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", "all is well\n")
    ended = envbuilder("diagnose", "some.log")
    assert (ended.status, "Nothing found." in ended.stdout) == (0, True)
    assert json.loads(envbuilder("diagnose", "some.log", "--json").stdout)["causes"] == []


def test_facts_sharpen_the_answer(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", "Illegal instruction (core dumped)\n")
    plain = json.loads(envbuilder("diagnose", "some.log", "--json").stdout)["causes"][0]
    sharper = json.loads(envbuilder("diagnose", "some.log", "--facts", str(FACTS), "--json").stdout)["causes"][0]
    assert sharper["confidence"] < plain["confidence"]
    assert "AVX" in sharper["notes"][0]


def test_a_lock_names_the_release(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", f"Found device 0 with properties:\n{CUDNN_MISSING}\n")
    envbuilder.write("some.lock", dump(lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports())))
    ended = envbuilder("diagnose", "some.log", "--lock", "some.lock", "--json")
    assert json.loads(ended.stdout)["seen"]["tensorflow"] == "2.15.1"


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_the_text_keeps_within_the_terminal(envbuilder: CommandLine, columns: str) -> None:
    envbuilder.set("COLUMNS", columns)
    envbuilder.write("some.log", f"{OOM * 3}\n{CUDNN_MISSING * 3}\n{NOISE}\n")
    lines = envbuilder("diagnose", "some.log", "--all").stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("    ")) <= int(columns)


def test_a_log_that_is_not_there_is_a_usage_error(envbuilder: CommandLine) -> None:
    assert envbuilder("diagnose", "nowhere.log").status == 2


@pytest.mark.parametrize("content", ["", " \n\n\t\n"])
def test_an_empty_log_is_said_to_be_empty(
    envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    envbuilder.write("some.log", content)
    ended = envbuilder("diagnose", "some.log")
    assert (ended.status, ended.stdout) == (2, "")
    assert "the log is empty: some.log" in ended.stderr
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))
    ended = envbuilder("diagnose", "-", "--json")
    assert (ended.status, json.loads(ended.stdout)["error"]["kind"]) == (2, "usage-error")
    assert "2>&1 | envbuilder diagnose -" in ended.stderr
