"""Facts from elsewhere are judged as those of `validate`, and the probe is written as one file."""

from __future__ import annotations

import io
import json

import pytest

from envbuilder.locking.lockfile import dump
from envbuilder.model.locks import Spec
from envbuilder.probing.joining import probe_source
from envbuilder.workflows.lock import lock
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine

FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"


@pytest.fixture
def locked(envbuilder: CommandLine) -> str:
    text = dump(lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports()))
    return str(envbuilder.write("some.lock", text))


def test_real_facts_are_compared_with_a_lock(envbuilder: CommandLine, locked: str) -> None:
    ended = envbuilder("check", "--facts", str(FACTS), "--lock", locked, "--json")
    report = json.loads(ended.stdout)
    # The probe had been asked for GPUs, and there was none.
    outcomes = {each["id"]: each["outcome"] for each in report["results"]}
    assert (report["tier"], outcomes["tensorflow-imports"], outcomes["training-loss-falls"]) == (
        "gpu",
        "passed",
        "passed",
    )
    assert outcomes["gpu-matmul-on-gpu"] != "passed"
    assert ended.status == 1


def test_facts_come_from_standard_input_too_and_a_required_tier_is_not_skipped(
    envbuilder: CommandLine, locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FACTS.read_text(encoding="utf-8")))
    ended = envbuilder("check", "--facts", "-", "--lock", locked, "--require", "gpu")
    assert ended.status == 1
    assert "gpu-matmul-on-gpu" in ended.stdout


def test_what_is_no_facts_is_invalid_input(envbuilder: CommandLine, locked: str) -> None:
    ended = envbuilder("check", "--facts", str(envbuilder.write("facts.json", "{}")), "--lock", locked)
    assert ended.status == 3
    assert "facts.json" in ended.stderr


def test_the_probe_is_written_as_one_file(envbuilder: CommandLine) -> None:
    assert envbuilder("probe", "-o", "probe.py").status == 0
    assert (envbuilder.folder / "probe.py").read_bytes() == probe_source()
    assert envbuilder("probe").stdout.encode() == probe_source()
