"""`doctor` runs the probe on this host, and in other interpreters."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.catalog.verdicts import Fit
from envbuilder.diagnostics.doctor import decode_host_environment
from envbuilder.diagnostics.facts.facts import Seen
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import real_catalog
from tests.fakes.cuda_libraries import compile_stack
from tests.fakes.site_packages import add_builtin_keras, add_library, install, install_tensorflow
from tests.unit.cli.running import CommandLine


@pytest.fixture
def silence() -> Iterator[str]:
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


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
