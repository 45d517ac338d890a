"""`doctor` judges the facts of a file; a problem ends it with status 1."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from envbuilder.catalog.buildable import Inventory
from envbuilder.cli.output.doctor_text import doctor_text
from envbuilder.diagnostics.doctor import HostProbe
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.hardware import GpuBytes, GpuProcess
from envbuilder.diagnostics.facts.host import NamedProcess
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host.table import examine_machine
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import real_catalog
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.checks.cases import ROOT, merged
from tests.unit.diagnostics.host.machines import GIB, NO_ENGINE, SILENT, around, facts, gpu, host, nvml
from tests.unit.diagnostics.host.pythons import SITE, cuda_files, packages, python, wheel

FACTS = ROOT / "facts" / "tf-2.15-cpu.json"
A100 = ROOT / "patches" / "two-a100.json"


def saved(folder: Path, **changes: object) -> str:
    document = merged(json.loads(FACTS.read_text("utf-8")), json.loads(A100.read_text("utf-8")))
    file = folder / "node.json"
    file.write_text(json.dumps(merged(document, {"facts": changes})), encoding="utf-8")
    return str(file)


def test_a_saved_file_is_judged_without_looking_around(envbuilder: CommandLine, tmp_path: Path) -> None:
    ended = envbuilder("doctor", saved(tmp_path), "--json")
    document = json.loads(ended.stdout)

    assert (ended.status, document["surroundings"]) == (0, None)
    assert "container engine and sources" in {each["what"] for each in document["unseen"]}
    fits = {row["environment"]: row["fit"] for row in document["environments"]}
    assert (fits["tf-2.15-cpu"], fits["tf-2.4-cuda11.0"], fits["tf-2.15-cuda12.2"]) == (
        "cpu-only",
        "fits",
        "fits-with-jit",
    )


def test_a_problem_ends_the_command_with_status_1_and_its_remedy(envbuilder: CommandLine, tmp_path: Path) -> None:
    mismatch: object = {
        "value": {"init": {"code": 18, "name": "Driver/library version mismatch"}, "gpus": [], "driver": None}
    }
    driver = {"value": {"module": {"release": "535.104.05"}, "interface": {"value": {"init": {"code": 803}}}}}
    ended = envbuilder("doctor", saved(tmp_path, nvml=mismatch, driver=driver))

    assert ended.status == 1
    assert "driver-mismatch" in ended.stdout
    assert "sudo reboot" in ended.stdout


def test_facts_come_from_standard_input_too(envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(FACTS.read_bytes())))
    ended = envbuilder("doctor", "-")
    assert ended.stdout.startswith("-: ")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("doctor", "x.json", "--container", "y"), 2),
        (("doctor", "-o", "no/such/facts.json"), 2),
        (("doctor", "nothing.json"), 3),
        (("doctor", "--container", "web"), 6),
    ],
)
def test_what_cannot_be_looked_at_ends_with_the_status_of_its_family(
    envbuilder: CommandLine, arguments: tuple[str, ...], status: int
) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    ended = envbuilder(*arguments)
    assert ended.status == status
    assert "next:" in ended.stderr or status == 3


def text_of(seen: Facts, host_environment: HostEnvironment | None, width: int) -> list[str]:
    looked = HostProbe(document=b"", facts=seen, host_environment=host_environment)
    whole = examine_machine(real_catalog(), seen, host_environment, Inventory())
    return click.unstyle("\n".join(doctor_text(looked, whole, width))).splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_only_commands_are_wider_than_the_terminal(width: int) -> None:
    busy = gpu(memory=GpuBytes(total=40 * GIB, used=30 * GIB, free=10 * GIB), processes=(
        *(GpuProcess(pid=number, memory=GIB) for number in range(4000, 4010)),
    ))  # fmt: skip
    seen = facts(nvml=nvml(busy), host=host(processes=(NamedProcess(pid=4000, name="python"),)))
    lines = text_of(seen, around(engine=NO_ENGINE, sources=(SILENT,)), width)

    assert [line for line in lines if len(line) > width and not line.startswith("      ")] == []
    assert lines[0] == "this host: 3 warnings"


def test_equal_gpus_are_one_line() -> None:
    other = gpu(index=3, memory=GpuBytes(total=40 * GIB, used=0, free=39 * GIB))
    lines = text_of(facts(nvml=nvml(*(gpu(index=number) for number in range(3)), other)), around(), 120)
    assert [line.split(" (")[0] for line in lines if line.startswith("  GPU ")] == [
        "  GPU 0-2       3 x NVIDIA A100-SXM4-40GB, compute capability 8.0, 40 GiB",
        "  GPU 3         NVIDIA A100-SXM4-40GB, compute capability 8.0, 40 GiB",
    ]


def test_the_text_says_what_was_seen_and_which_rows_run_and_why() -> None:
    lines = text_of(facts(), around(proxies=(("HTTPS_PROXY", "http://proxy.example:3128"),)), 120)
    text = "\n".join(lines)

    assert lines[0] == "this host: no problems found"
    assert "GPU 0         NVIDIA A100-SXM4-40GB, compute capability 8.0, 40 GiB (40 GiB free), MIG off, ECC on" in text
    assert "driver        550.54.15, for CUDA up to 12.4" in text
    assert "proxy         HTTPS_PROXY=http://proxy.example:3128" in text
    assert "run on the GPU with JIT: the first start takes minutes" in text
    assert "all 34 CPU environments" in text
    assert "8 GPU environments, tf-1.5-cuda9.0 to tf-1.12-cuda9.0" in text


def test_rows_that_need_a_newer_c_library_are_named_for_bare_use() -> None:
    old = facts(interpreter={"glibc": type(real_catalog().bases[0].glibc)("2.17")})
    assert any(line.startswith("  only in a container") for line in text_of(old, None, 120))


def test_a_host_without_facts_of_its_own_is_not_called_sound(envbuilder: CommandLine, tmp_path: Path) -> None:
    lines = text_of(replace(facts(), host=decode(FACTS.read_text("utf-8"), "x").host), None, 100)
    assert any("Not seen" in line for line in lines)


def test_the_versions_of_a_full_look_are_shown_from_its_facts(envbuilder: CommandLine) -> None:
    ended = envbuilder("doctor", str(FACTS))
    assert "tensorflow    tensorflow-cpu 2.15.1, built without CUDA" in ended.stdout
    assert "nearest       tf-2.15-cpu, the same TensorFlow" in ended.stdout


@pytest.mark.parametrize("option", [("--python", "python"), ("--import",)])
def test_facts_are_not_combined_with_a_look(envbuilder: CommandLine, option: tuple[str, ...]) -> None:
    ended = envbuilder("doctor", str(FACTS), *option)
    assert ended.status == 2
    assert f"FACTS cannot be combined with {option[0]}" in ended.stderr


def test_validate_without_a_lock_names_what_shows_the_versions(envbuilder: CommandLine) -> None:
    ended = envbuilder("validate", "--python", "venv/bin/python")
    assert ended.status == 2
    assert "no lock to check venv/bin/python against" in ended.stderr
    assert "--lock ENV" in ended.stderr
    assert "envbuilder doctor --python venv/bin/python" in ended.stderr


@pytest.mark.parametrize("width", [40, 60, 80])
def test_versions_are_as_narrow_as_the_rest(width: int) -> None:
    seen = python(
        wheel("tensorflow-gpu", "2.4.4"), *packages(keras="2.2.4", protobuf="4.21.12"), cuda="11.0",
        files=cuda_files("tf-2.4-cuda11.0", folder=f"{SITE}/nvidia/cudnn/lib", via=""), has_gpu=True,
    )  # fmt: skip
    looked = HostProbe(document=b"", facts=seen, host_environment=None)
    whole = examine_machine(real_catalog(), seen, None, Inventory())
    lines = click.unstyle("\n".join(doctor_text(looked, whole, width, is_one_python=True))).splitlines()
    assert [line for line in lines if len(line) > width and not line.startswith("      ")] == []
    assert any(line.startswith("  libraries") for line in lines)


def test_what_cannot_be_built_from_here_is_not_recommended() -> None:
    seen = python(wheel("tensorflow-cpu", "2.4.4"), *packages(protobuf="4.21.12"))
    looked = HostProbe(document=b"", facts=seen, host_environment=None)
    whole = examine_machine(real_catalog(), seen, None, Inventory(distributions=frozenset()))
    text = click.unstyle("\n".join(doctor_text(looked, whole, 120, is_one_python=True)))
    assert "it cannot be built from here: " in text
    assert "envbuilder build tf-2.4-cpu" not in text
    assert "envbuilder advise" in text
