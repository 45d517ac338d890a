"""`doctor` looks at this host, at a file and at a container; a problem ends it with status 1."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.verdicts import Fit
from envbuilder.cli.output.doctor_text import doctor_text
from envbuilder.diagnostics.doctor import HostProbe, decode_host_environment
from envbuilder.diagnostics.facts.facts import Facts, Seen
from envbuilder.diagnostics.facts.hardware import GpuBytes, GpuProcess
from envbuilder.diagnostics.facts.host import NamedProcess
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host.table import examine_machine
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import real_catalog
from tests.fakes.cuda_libraries import compile_stack
from tests.fakes.site_packages import add_builtin_keras, add_library, install, install_tensorflow
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.checks.cases import ROOT, merged
from tests.unit.diagnostics.host.machines import GIB, NO_ENGINE, SILENT, around, facts, gpu, host, nvml
from tests.unit.diagnostics.host.pythons import SITE, cuda_files, packages, python, wheel

FACTS = ROOT / "facts" / "tf-2.15-cpu.json"
A100 = ROOT / "patches" / "two-a100.json"


@pytest.fixture
def silence() -> Iterator[str]:
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def saved(folder: Path, **changes: object) -> str:
    document = merged(json.loads(FACTS.read_text("utf-8")), json.loads(A100.read_text("utf-8")))
    file = folder / "node.json"
    file.write_text(json.dumps(merged(document, {"facts": changes})), encoding="utf-8")
    return str(file)


def without_network(envbuilder: CommandLine, proxy: str) -> None:
    """Nothing is reached: a proxy that is silent, and no engine."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        envbuilder.set(name, proxy)
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        envbuilder.set(name, "")
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")


def test_this_host_is_looked_at_without_network_in_bounded_time(envbuilder: CommandLine, silence: str) -> None:
    without_network(envbuilder, f"http://me:hunter2@{silence}")
    # The proxy never answers: without a bound this would not come back.
    ended = envbuilder("doctor", "--json", "-o", "facts.json")

    document = json.loads(ended.stdout)
    written = (envbuilder.folder / "facts.json").read_text("utf-8")
    assert (document["schema"], document["origin"]) == (1, "this host")
    assert ended.status == int(document["problems"])
    assert {row["fit"] for row in document["environments"]} <= {fit.value for fit in Fit}
    assert len(document["environments"]) == len(real_catalog().environments)
    sources = {each["kind"]: each for each in document["surroundings"]["sources"]}
    assert sources["package index"]["silence"] == "time"
    assert "engine-silent" in {finding["id"] for finding in document["findings"]}
    assert isinstance(decode(written, "x").host, Seen)
    assert decode_host_environment(written, "x") is not None
    for text in (ended.stdout, ended.stderr, written):
        assert "hunter2" not in text


def test_the_login_of_a_proxy_and_of_an_index_is_never_shown(envbuilder: CommandLine, silence: str) -> None:
    without_network(envbuilder, f"http://me:hunter2@{silence}")
    envbuilder.set("UV_DEFAULT_INDEX", "https://me:hunter2@index.example/simple")
    ended = envbuilder("doctor")

    assert "index.example" in ended.stdout
    assert f"HTTPS_PROXY=http://…@{silence}" in ended.stdout
    assert "hunter2" not in ended.stdout + ended.stderr


def test_gpus_of_this_host_are_looked_at_and_judged(envbuilder: CommandLine, silence: str, tmp_path: Path) -> None:
    without_network(envbuilder, f"http://{silence}")
    envbuilder.set("LD_LIBRARY_PATH", str(compile_stack(tmp_path)))
    envbuilder.set("FAKE_GPUS", "2")
    envbuilder.set("FAKE_NVML", "busy")
    envbuilder.set("CUDA_VISIBLE_DEVICES", "5")
    document = json.loads(envbuilder("doctor", "--json").stdout)

    found = {finding["id"]: finding for finding in document["findings"]}
    assert "4242 (7 GiB)" in found["gpu-held"]["seen"]
    assert found["visible-devices-none"]["severity"] == "problem"
    assert {"compute-exclusive", "foreign-cuda-libraries"} <= set(found)
    assert [gpu["capability"] for gpu in document["host"]["gpus"]] == ["9.0", "9.0"]
    fits = {row["environment"]: row["fit"] for row in document["environments"]}
    assert (fits["tf-2.17-cuda12.3"], fits["tf-2.4-cuda11.0"]) == ("fits-with-jit", "does-not-fit")


def test_a_variable_that_names_no_certificates_is_a_problem(envbuilder: CommandLine, silence: str) -> None:
    without_network(envbuilder, f"http://{silence}")
    envbuilder.set("SSL_CERT_FILE", "/nowhere/ca.pem")
    ended = envbuilder("doctor")

    assert ended.status == 1
    assert "SSL_CERT_FILE names /nowhere/ca.pem, which is not readable" in ended.stdout


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


def test_the_text_says_what_was_seen_and_which_rows_run_and_why() -> None:
    lines = text_of(facts(), around(proxies=(("HTTPS_PROXY", "http://proxy.example:3128"),)), 120)
    text = "\n".join(lines)

    assert lines[0] == "this host: no problems found"
    assert "GPU 0         NVIDIA A100-SXM4-40GB, compute capability 8.0, 40 GiB (40 GiB free), MIG off, ECC on" in text
    assert "driver        550.54.15, for CUDA up to 12.4" in text
    assert "proxy         HTTPS_PROXY=http://proxy.example:3128" in text
    assert "run on the GPU with JIT: the first start takes minutes" in text
    assert "all 34 CPU environments" in text


def test_rows_that_need_a_newer_c_library_are_named_for_bare_use() -> None:
    old = facts(interpreter={"glibc": type(real_catalog().bases[0].glibc)("2.17")})
    assert any(line.startswith("  only in a container") for line in text_of(old, None, 120))


def test_a_host_without_facts_of_its_own_is_not_called_sound(envbuilder: CommandLine, tmp_path: Path) -> None:
    lines = text_of(replace(facts(), host=decode(FACTS.read_text("utf-8"), "x").host), None, 100)
    assert any("Not seen" in line for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Venv:
    """An interpreter with a directory of packages of its own."""

    python: str
    site: Path


@pytest.fixture
def venv(tmp_path: Path, envbuilder: CommandLine) -> Venv:
    """A real environment of the running interpreter, without pip."""
    root = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    envbuilder.set("PYTHONPATH", "")
    envbuilder.set("LD_LIBRARY_PATH", "")
    return Venv(python=str(root / "bin" / "python"), site=next(root.glob("lib/python*/site-packages")))


def test_the_versions_of_an_interpreter_are_shown_with_what_does_not_fit(envbuilder: CommandLine, venv: Venv) -> None:
    install_tensorflow(venv.site, "2.4.4", "numpy (~=1.19.2)", "protobuf (>=3.9.2)")
    add_builtin_keras(venv.site, "2.4.0")
    install(venv.site, "numpy", "1.19.5")
    install(venv.site, "protobuf", "4.21.12")
    ended = envbuilder("doctor", "--python", venv.python)

    assert ended.status == 1
    assert f"{venv.python} -m pip install 'protobuf<3.21,>=3.9.2'" in ended.stdout
    assert "tensorflow    tensorflow 2.4.4, built without CUDA" in ended.stdout
    assert "keras         tf.keras 2.4.0, no stand-alone Keras" in ended.stdout
    assert "packages      numpy 1.19.5, protobuf 4.21.12, h5py none" in ended.stdout
    assert "nearest       tf-2.4-cpu, the same TensorFlow; it has" in ended.stdout
    assert "protobuf 3.20.3 (here: 4.21.12)" in ended.stdout
    assert "envbuilder build tf-2.4-cpu" in ended.stdout
    assert "Environments" not in ended.stdout


def test_the_versions_are_in_the_document_and_in_the_file(envbuilder: CommandLine, venv: Venv) -> None:
    install_tensorflow(venv.site, "2.4.4", cuda=True)
    libraries = envbuilder.folder / "lib"
    add_library(libraries, "libcudnn.so.8.0.5", "libcudnn.so.8")
    envbuilder.set("LD_LIBRARY_PATH", str(libraries))
    document = json.loads(envbuilder("doctor", "--python", venv.python, "-o", "facts.json", "--json").stdout)

    versions = document["versions"]
    assert versions["tensorflow"]["packages"] == ["tensorflow 2.4.4"]
    assert (versions["tensorflow"]["cuda"], versions["tensorflow"]["cudnn"]) == ("11.0", "8.0.4")
    assert versions["libraries"][0] == {
        "name": "libcudnn.so.8", "path": f"{libraries}/libcudnn.so.8", "version": "8.0.5", "origin": "LD_LIBRARY_PATH",
        "via": "LD_LIBRARY_PATH",
    }  # fmt: skip
    assert (versions["nearest"]["environment"], versions["nearest"]["same_release"]) == ("tf-2.4-cuda11.0", True)
    assert (document["origin"], document["surroundings"]) == (venv.python, None)
    again = json.loads(envbuilder("doctor", "facts.json", "--json").stdout)
    assert again["versions"] == versions


def test_the_python_on_the_path_is_looked_at_by_itself(envbuilder: CommandLine, venv: Venv, silence: str) -> None:
    without_network(envbuilder, f"http://{silence}")
    install_tensorflow(venv.site, "2.15.1", name="tensorflow-cpu")
    envbuilder.set("PATH", f"{Path(venv.python).parent}{os.pathsep}/usr/bin:/bin")
    ended = envbuilder("doctor")

    assert "tensorflow    tensorflow-cpu 2.15.1, built without CUDA" in ended.stdout
    assert ended.stdout.index("\nInstalled\n") < ended.stdout.index("\nSeen\n") < ended.stdout.index("\nEnvironments\n")


@pytest.mark.parametrize("script", ["", "#!/bin/sh\necho pyenv: python: command not found >&2\nexit 127\n"])
def test_without_a_python_that_works_the_host_is_looked_at_all_the_same(
    envbuilder: CommandLine, silence: str, script: str, tmp_path: Path
) -> None:
    without_network(envbuilder, f"http://{silence}")
    for name in ("python", "python3") if script else ():
        (tmp_path / name).write_text(script, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    envbuilder.set("PATH", str(tmp_path))
    document = json.loads(envbuilder("doctor", "--json").stdout)

    why = {each["what"]: each["why"] for each in document["unseen"]}["installed versions (TensorFlow, CUDA, cuDNN)"]
    assert why == (
        f"{tmp_path}/python is not a Python interpreter: it cannot run Python code" if script else "no python on PATH"
    )
    assert document["versions"] is None
    assert document["host"]["glibc"]


def test_an_import_is_tried_when_it_is_asked_for(envbuilder: CommandLine, venv: Venv) -> None:
    install_tensorflow(venv.site, "2.15.1")
    ended = envbuilder("doctor", "--python", venv.python, "--import")

    assert ended.status == 1
    assert "import tensorflow fails: ImportError: looked at, not imported" in ended.stdout


def test_an_interpreter_without_tensorflow_is_no_problem(envbuilder: CommandLine, venv: Venv) -> None:
    ended = envbuilder("doctor", "--python", venv.python)
    assert "tensorflow    not installed" in ended.stdout
    assert "envbuilder advise" in ended.stdout


@pytest.mark.parametrize(
    ("program", "said", "hint"),
    [
        ("/bin/ls", "/bin/ls is not a Python interpreter", "--python /path/to/environment/bin/python"),
        ("no/such/python", "no/such/python: No such file or directory", "--python /path/to/environment/bin/python"),
        ("venv", "venv: Permission denied", "venv/bin/python"),
    ],
)
def test_what_is_no_interpreter_is_said(
    envbuilder: CommandLine, venv: Venv, program: str, said: str, hint: str
) -> None:
    named = str(Path(venv.python).parents[1]) if program == "venv" else program
    ended = envbuilder("doctor", "--python", named)
    assert ended.status == 9
    assert said in ended.stderr
    assert hint in ended.stderr


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


@pytest.mark.parametrize("width", [60, 80])
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
