"""`validate` judges facts from elsewhere as its own, and the probe is written as one file."""

from __future__ import annotations

import io
import json
import os
import sys
from types import SimpleNamespace

import pytest

from envbuilder.diagnostics.probe.script import probe_source
from envbuilder.lock.create import lock
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.node_runtimes import apptainer_of_host, podman_of_host
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine

FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"


@pytest.fixture
def locked(envbuilder: CommandLine) -> str:
    text = dump(lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports()))
    return str(envbuilder.write("some.lock", text))


def test_real_facts_are_compared_with_a_lock(envbuilder: CommandLine, locked: str) -> None:
    ended = envbuilder("validate", "--facts", str(FACTS), "--lock", locked, "--json")
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
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(FACTS.read_bytes())))
    ended = envbuilder("validate", "--facts", "-", "--lock", locked, "--require", "gpu")
    assert ended.status == 1
    assert "gpu-matmul-on-gpu" in ended.stdout


def test_a_report_goes_to_several_files_and_the_findings_still_end_the_command(
    envbuilder: CommandLine, locked: str
) -> None:
    files = ("out.html", "out.json", "out.md", "out.txt", "out.xml")
    ended = envbuilder(
        "validate", "--facts", str(FACTS), "--lock", locked, *(x for file in files for x in ("-o", file))
    )
    written = [(envbuilder.folder / file).read_text(encoding="utf-8") for file in files]
    assert [text[:12] for text in written] == [
        "<!DOCTYPE ht",
        '{\n  "schema"',
        "## ❌ FAILED ",
        str(FACTS)[:12],
        "<?xml versio",
    ]
    assert (ended.status, ended.stdout) == (1, written[3])


@pytest.mark.parametrize(("file", "says"), [("report.pdf", ".pdf"), ("no/such/report.md", "no/such")])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    envbuilder: CommandLine, file: str, says: str
) -> None:
    ended = envbuilder("validate", "--facts", "not-even-read.json", "--lock", "neither.lock", "-o", file)
    assert ended.status == 2
    assert says in ended.stderr
    assert "next:" in ended.stderr or "hint" in ended.stderr


def test_the_schema_of_a_report_is_printed(envbuilder: CommandLine) -> None:
    ended = envbuilder("schema", "validate")
    assert ended.status == 0
    assert json.loads(ended.stdout)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_what_is_no_facts_is_invalid_input(envbuilder: CommandLine, locked: str) -> None:
    ended = envbuilder("validate", "--facts", str(envbuilder.write("facts.json", "{}")), "--lock", locked)
    assert ended.status == 3
    assert "facts.json" in ended.stderr


def test_the_probe_is_written_as_one_file(envbuilder: CommandLine) -> None:
    assert envbuilder("probe", "-o", "probe.py").status == 0
    assert (envbuilder.folder / "probe.py").read_bytes() == probe_source()
    assert envbuilder("probe").stdout.encode() == probe_source()


def test_an_interpreter_of_this_host_is_looked_at(envbuilder: CommandLine, locked: str) -> None:
    ended = envbuilder("validate", "--python", sys.executable, "--lock", locked, "--tier", "cpu", "--json")
    report = json.loads(ended.stdout)
    outcomes = {each["id"]: each["outcome"] for each in report["results"]}
    assert ended.status == 1
    assert outcomes["tensorflow-imports"] == "failed"
    assert report["subject"] == sys.executable


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate",),
        ("validate", "image", "--python", "python"),
        ("validate", "image", "--container", "x"),
        ("validate", "image", "--facts", "facts.json"),
        ("validate", "--python", "python", "--facts", "facts.json"),
        ("validate", "image", "--tier", "static", "--require", "cpu"),
        ("validate", "--facts", "facts.json", "--tier", "static"),
        ("validate", "--facts", "facts.json", "--memory", "growth"),
    ],
)
def test_what_cannot_be_meant_is_refused(envbuilder: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = envbuilder(*arguments)
    assert ended.status == 2
    assert "next:" in ended.stderr


def test_an_apptainer_image_is_run_by_apptainer(envbuilder: CommandLine, locked: str) -> None:
    """The stand-in runs the command with an interpreter of this host in place of the one in the image."""
    folder = envbuilder.folder / "programs"
    apptainer_of_host(folder, lock=locked)
    envbuilder.set("PATH", f"{folder}:{os.environ['PATH']}")
    ended = envbuilder("validate", str(envbuilder.write("tf.sif", "")), "--tier", "cpu", "--json")
    assert ended.status == 1, ended.stderr
    report = json.loads(ended.stdout)
    assert (report["environment"], report["tier"]) == ("tf-2.15-cpu", "cpu")


def test_podman_runs_the_layout_that_was_built(envbuilder: CommandLine, locked: str) -> None:
    folder, layout = envbuilder.folder / "programs", envbuilder.folder / "layout"
    podman_of_host(folder, lock=locked)
    layout.mkdir()
    (layout / "oci-layout").touch()
    envbuilder.set("PATH", f"{folder}:{os.environ['PATH']}")
    ended = envbuilder("validate", str(layout), "--runtime", "podman", "--tier", "cpu", "--json")
    assert ended.status == 1, ended.stderr
    assert json.loads(ended.stdout)["tier"] == "cpu"
    refused = envbuilder("validate", str(layout), "--runtime", "podman", "--engine", "docker")
    assert (refused.status, "cannot be combined" in refused.stderr) == (2, True)


@pytest.mark.parametrize("memory", [(), ("--memory", "limit:4GiB")])
def test_a_file_of_apptainer_is_run_without_an_engine(
    envbuilder: CommandLine, locked: str, memory: tuple[str, ...]
) -> None:
    folder = envbuilder.folder / "programs"
    apptainer_of_host(folder, lock=locked)
    envbuilder.set("PATH", f"{folder}:{os.environ['PATH']}")
    shows = "import os; print(os.environ.get('ENVBUILDER_MEMORY'))"
    ended = envbuilder("run", *memory, str(envbuilder.write("tf.sif", "")), "/opt/venv/bin/python", "-c", shows)
    assert ended.status == 0, ended.stderr
    assert ended.stdout == ("limit:4GiB\n" if memory else "None\n")


def test_several_facts_are_all_judged(envbuilder: CommandLine, locked: str) -> None:
    broken = json.loads(FACTS.read_text(encoding="utf-8"))
    broken["facts"]["interpreter"]["value"]["version"] = "3.6.9"
    envbuilder.write("broken.json", json.dumps(broken))
    envbuilder.write("sound.json", FACTS.read_text(encoding="utf-8"))
    options = ("--tier", "cpu", "--lock", locked)
    assert envbuilder("validate", "--facts", "sound.json", *options).status == 0
    for files in (("broken.json", "sound.json"), ("sound.json", "broken.json")):
        named = [word for file in files for word in ("--facts", file)]
        ended = envbuilder("validate", *named, *options)
        assert ended.status == 1
        rows = {line.split()[0]: line.split()[1] for line in ended.stdout.splitlines()[-2:]}
        assert rows == {"broken.json": "FAILED", "sound.json": "passed"}
        document = json.loads(envbuilder("validate", *named, *options, "--json").stdout)
        assert [report["subject"] for report in document["reports"]] == list(files)
        assert [report["passed"] for report in document["reports"]] == [file == "sound.json" for file in files]
        assert document["passed"] is False
    both = envbuilder("validate", "--facts", "sound.json", "--facts", "sound.json", *options, "--json")
    assert (both.status, json.loads(both.stdout)["passed"]) == (0, True)


@pytest.mark.parametrize(
    "asked", [("-o", "out.html"), ("--junit", "out.xml"), ("--format", "junit"), ("--facts", "-", "--facts", "-")]
)
def test_what_takes_one_file_of_facts_refuses_several(
    envbuilder: CommandLine, locked: str, asked: tuple[str, ...]
) -> None:
    ended = envbuilder("validate", "--facts", str(FACTS), "--facts", str(FACTS), "--lock", locked, *asked)
    assert ended.status == 2
    assert "cannot be repeated" in ended.stderr or "accepts one facts file" in ended.stderr
