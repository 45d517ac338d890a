"""Installed software, as the probe reads it from files with every interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.diagnostics.facts.facts import Seen
from envbuilder.diagnostics.facts.host import SoftwareFacts
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.cuda_libraries import COMPILER, STACK, compile_fake, compile_stack
from tests.fakes.site_packages import (
    ASSIGNED,
    DICTIONARY,
    PAIRS,
    add_builtin_keras,
    add_library,
    install,
    install_tensorflow,
)
from tests.interpreters.interpreters import interpreters
from tests.interpreters.joined import probe_file

PYTHONS = interpreters()
# The code as the probe runs it, without the parts that take seconds.
QUICK = (
    "import importlib, os, sys\n"
    "sys.path.insert(0, os.path.dirname(sys.argv[1]))\n"
    "probe = importlib.import_module('probe')\n"
    "sys.path.pop(0)\n"
    "probe.write(1, {'schema': 1, 'seconds': 0, 'facts': {'software': probe.look(probe.software)}})\n"
)


def look(*folders: Path, python: Path = Path(sys.executable), libraries: str = "") -> SoftwareFacts:
    """What the probe reads with directories before those of the interpreter."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = os.pathsep.join(map(str, folders))
    done = subprocess.run(
        [str(python), "-c", QUICK, str(probe_file())], capture_output=True, check=True, timeout=60,
        env={**kept, "PYTHONPATH": path, "LD_LIBRARY_PATH": libraries, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    fact = decode(done.stdout, "probe").software
    assert isinstance(fact, Seen)
    return fact.value


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])
def test_every_interpreter_reads_packages_build_and_libraries(python: Path, tmp_path: Path) -> None:
    site, libraries = tmp_path / "site", tmp_path / "lib"
    install_tensorflow(site, "2.4.4", "numpy (~=1.19.2)", "h5py ; extra == 'all'", name="tensorflow-gpu", cuda=True)
    add_builtin_keras(site, "2.4.0")
    install(site, "numpy", "1.19.5")
    add_library(libraries, "libcudnn.so.8.0.5", "libcudnn.so.8")
    seen = look(site, python=python, libraries=str(libraries))

    framework = next(each for each in seen.distributions if each.name == "tensorflow-gpu")
    assert (framework.version, framework.folder) == ("2.4.4", str(site))
    assert (framework.requires, framework.modules) == (("numpy (~=1.19.2)",), ("tensorflow",))
    assert seen.tensorflow
    assert seen.tensorflow.info == (
        ("cuda_compute_capabilities", "sm_35, compute_80"), ("cuda_version", "11.0"), ("cudnn_version", "8"),
        ("is_cuda_build", "True"),
    )  # fmt: skip
    assert (seen.tensorflow.folder, seen.tensorflow.keras) == (str(site / "tensorflow"), "2.4.0")
    first = seen.files[0]
    assert (first.name, first.path, first.via) == ("libcudnn.so.8", f"{libraries}/libcudnn.so.8", "LD_LIBRARY_PATH")
    assert first.real.endswith("libcudnn.so.8.0.5")


@pytest.mark.parametrize(("info", "told"), [(ASSIGNED, "10.0"), (DICTIONARY, "10.1"), (PAIRS, "11.0")])
def test_every_form_of_the_build_information_is_read(info: str, told: str, tmp_path: Path) -> None:
    install_tensorflow(tmp_path, "2.0.0", info=info, cuda=True)
    seen = look(tmp_path).tensorflow
    assert seen
    values = dict(seen.info)
    assert values["is_cuda_build"] == "True"
    assert values.get("cuda_version", values.get("cuda_version_number")) == told


def test_code_in_the_build_information_is_not_run(tmp_path: Path) -> None:
    install_tensorflow(tmp_path, "2.0.0", info="import os\nos._exit(3)\nx = open('a')\nis_cuda_build = {cuda}\n")
    seen = look(tmp_path).tensorflow
    assert seen
    assert seen.info == (("is_cuda_build", "False"),)


@pytest.mark.parametrize(
    "info", ["is_cuda_build =", "\0", "\ufeff\udcff".encode("utf-8", "surrogatepass").decode("latin-1")]
)
def test_build_information_that_cannot_be_read_is_left_out(info: str, tmp_path: Path) -> None:
    install_tensorflow(tmp_path, "2.0.0", info=info)
    seen = look(tmp_path).tensorflow
    assert seen
    assert seen.info == ()


def test_the_files_of_1_15_are_in_a_directory_of_another_name(tmp_path: Path) -> None:
    install_tensorflow(tmp_path, "1.15.5", info=ASSIGNED, cuda=True)
    (tmp_path / "tensorflow" / "python").rename(tmp_path / "inner")
    (tmp_path / "tensorflow_core").mkdir()
    (tmp_path / "inner").rename(tmp_path / "tensorflow_core" / "python")
    seen = look(tmp_path).tensorflow
    assert seen
    assert dict(seen.info)["is_cuda_build"] == "True"


def test_a_distribution_that_another_hides_is_listed_after_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    install_tensorflow(first, "2.4.4")
    install_tensorflow(second, "2.4.1", name="tensorflow-cpu")
    found = [each for each in look(first, second).distributions if each.modules]
    assert [(each.name, each.folder) for each in found] == [("tensorflow", str(first)), ("tensorflow-cpu", str(second))]


def test_what_pip_could_not_remove_is_not_installed(tmp_path: Path) -> None:
    install(tmp_path, "tensorflow", "2.4.1").rename(tmp_path / "~ensorflow-2.4.1.dist-info")
    seen = look(tmp_path)
    assert "tensorflow" not in {each.name for each in seen.distributions}
    assert seen.tensorflow is None


def test_libraries_of_wheels_that_the_loader_does_not_reach_come_last(tmp_path: Path) -> None:
    site, libraries = tmp_path / "site", tmp_path / "lib"
    add_library(site / "nvidia" / "cudnn" / "lib", "libcudnn.so.8")
    add_library(libraries, "libcudart.so.11.0")
    add_library(libraries, "libother.so.1")
    files = [file for file in look(site, libraries=str(libraries)).files if str(tmp_path) in file.path]
    assert [(file.name, file.via) for file in files] == [
        ("libcudart.so.11.0", "LD_LIBRARY_PATH"),
        ("libcudnn.so.8", ""),
    ]


@pytest.mark.skipif(not COMPILER, reason="no C compiler")
def test_libraries_that_tensorflow_is_linked_against_are_read(tmp_path: Path) -> None:
    stack = tmp_path / "stack"
    stack.mkdir()
    compile_stack(stack)
    install_tensorflow(tmp_path / "site", "1.7.1", info="")
    linked = (f"-L{stack}", "-Wl,--no-as-needed", f"-l:{STACK[0]}", "-l:libcuda.so.1")
    compile_fake(tmp_path / "site" / "tensorflow", "cudnn", "libtensorflow_framework.so", *linked)
    seen = look(tmp_path / "site").tensorflow
    assert seen
    assert seen.needed == (STACK[0],)
