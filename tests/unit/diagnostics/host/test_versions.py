"""What does not fit together beside an installed TensorFlow, and what almost looks like it."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.diagnostics import host as examining
from envbuilder.diagnostics.facts.facts import BuildFacts, Facts, Imported, Seen, Unseen
from envbuilder.diagnostics.facts.host import CudaFile, Distribution
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.table import version_findings
from tests.fakes.catalogs import real_row
from tests.unit.diagnostics.host.pythons import (
    SITE,
    case,
    cuda_file,
    cuda_files,
    examination,
    packages,
    python,
    wheel,
)

TF24 = wheel("tensorflow-gpu", "2.4.4", "numpy (~=1.19.2)", "protobuf (>=3.9.2)", "h5py (~=2.10.0)")
GOOD = packages(numpy="1.19.5", protobuf="3.20.3", h5py="2.10.0")
ALL24 = (*cuda_files("tf-2.4-cuda11.0", without="libcudnn.so.8"), cuda_file("libcudnn.so.8", version="8.0.5"))
TF215 = wheel(
    "tensorflow-cpu", "2.15.1", "numpy (<2.0.0,>=1.23.5)", "protobuf (<5.0.0dev,>=3.20.3)", "keras (<2.16,>=2.15.0)"
)
TF17 = wheel("tensorflow-gpu", "1.7.1")
P, W, N = Severity.PROBLEM, Severity.WARNING, Severity.NOTE


def found(seen: Facts) -> dict[str, Finding]:
    return {finding.id: finding for finding in version_findings(case(seen))}


def with_tf24(*more: Distribution, files: tuple[CudaFile, ...] = ALL24, has_gpu: bool = True) -> Facts:
    """TensorFlow 2.4.4 for CUDA 11.0 with all that it needs, and more."""
    names = {each.name for each in more}
    return python(
        TF24, *(each for each in GOOD if each.name not in names), *more, cuda="11.0", files=files, has_gpu=has_gpu
    )


def with_tf215(*more: Distribution) -> Facts:
    return python(TF215, *more, version="3.11.7")


def old(release: str, keras: str, package: str = "tensorflow") -> Facts:
    """An old TensorFlow with a stand-alone Keras."""
    return python(wheel(package, release), *packages(keras=keras, numpy="1.16.6", protobuf="3.19.6", h5py="2.10.0"))


def imported(seen: Facts, *devices: str) -> Facts:
    """The same after TensorFlow was imported."""
    return replace(
        seen,
        imported=Seen(value=Imported(version="2.4.4", git_version="", path=f"{SITE}/tensorflow")),
        build=Seen(value=BuildFacts(cuda=True, info=(("cuda_version", "11.0"),))),
        devices=Seen(value=devices),
    )


FAILS = Unseen(kind="TypeError", message="Descriptors cannot not be created directly.")
WHEELS = f"{SITE}/nvidia/cudnn/lib"

CATCHES = {
    "protobuf 4 beside 2.4": (with_tf24(wheel("protobuf", "4.21.12")), "package-breaks-import", P, "protobuf 4.21.12"),
    "NumPy 2 beside 2.15": (
        with_tf215(*packages(numpy="2.1.0", protobuf="4.25.3", keras="2.15.0")),
        "package-breaks-import",
        P,
        "numpy 2.1.0",
    ),
    "protobuf 5 beside 2.15 imports, and is not what it requires": (
        with_tf215(*packages(numpy="1.26.4", protobuf="5.29.5", keras="2.15.0")),
        "requirements-unmet",
        W,
        "protobuf",
    ),
    "a requirement that is not installed": (
        with_tf215(*packages(numpy="1.26.4", protobuf="4.25.3")),
        "requirements-unmet",
        W,
        "keras.* (not installed)",
    ),
    "Keras 2.2.4 beside 1.4.1": (old("1.4.1", "2.2.4"), "keras-unfit", P, "tf.nn.softmax"),
    "Keras 3 beside 2.15": (
        with_tf215(*packages(numpy="1.26.4", protobuf="4.25.3", keras="3.15.1")),
        "keras-unfit",
        P,
        "Keras 3.15.1",
    ),
    "NumPy 1.19 beside 1.4": (
        python(wheel("tensorflow", "1.4.1"), *packages(numpy="1.19.5", h5py="2.10.0")),
        "package-known-trap",
        W,
        "1.17",
    ),
    "no h5py beside 1.4": (
        python(wheel("tensorflow", "1.4.1"), *packages(numpy="1.16.6")),
        "package-missing",
        W,
        "h5py is not installed",
    ),
    "cuDNN 7.6 beside 1.7, which takes 7.0 only": (
        python(TF17, cuda="9.0", files=(cuda_file("libcudnn.so.7", version="7.6.5"),), has_gpu=True),
        "cudnn-unfit",
        P,
        "cuDNN 7.0.x exactly",
    ),
    "an older cuDNN of the same major": (
        python(
            wheel("tensorflow", "2.15.1"),
            cuda="12.2",
            files=(cuda_file("libcudnn.so.8", version="8.6.0"),),
            version="3.11.7",
        ),
        "cudnn-unfit",
        W,
        "cuDNN 8.6.0",
    ),
    "cuBLAS of another CUDA": (
        with_tf24(files=(*cuda_files("tf-2.4-cuda11.0", without="libcublas.so.11"), cuda_file("libcublas.so.12"))),
        "cuda-libraries-missing",
        P,
        "libcublas.so.11, not found here; of another CUDA: libcublas.so.12",
    ),
    "no CUDA libraries at all": (with_tf24(files=()), "cuda-libraries-missing", P, "libcudart.so.11.0"),
    "libraries that an old release is linked against": (
        python(TF17, cuda="9.0", has_gpu=False),
        "cuda-libraries-missing",
        P,
        "libcudart.so.9.0",
    ),
    "libraries in wheels that this release does not look into": (
        with_tf24(
            wheel("nvidia-cudnn-cu11", "8.6.0.163"),
            files=(*ALL24[:-1], cuda_file("libcudnn.so.8", via="", folder=WHEELS)),
        ),
        "cuda-libraries-unreachable",
        P,
        "libcudnn.so.8",
    ),
    "libraries of two toolkits": (
        with_tf24(
            files=(
                *cuda_files("tf-2.4-cuda11.0", without="libcublas.so.11", folder="/usr/local/cuda-11.0/lib64"),
                cuda_file("libcublas.so.11", folder="/usr/local/cuda-11.8/lib64", via="LD_LIBRARY_PATH"),
            ),
        ),
        "cuda-libraries-mixed",
        W,
        "cuda-11.8",
    ),
    "a CPU build on a machine with a GPU": (
        python(TF215, version="3.11.7", has_gpu=True),
        "cpu-build-on-gpu-machine",
        W,
        "without CUDA",
    ),
    "two packages with one module": (
        with_tf24(wheel("tensorflow", "2.4.1")),
        "two-tensorflows",
        P,
        "tensorflow-gpu 2.4.4 and tensorflow 2.4.1",
    ),
    "a second one in another directory": (
        with_tf24(wheel("tensorflow", "2.4.1", folder="/home/me/.local/lib")),
        "two-tensorflows",
        W,
        "the import takes the one in",
    ),
    "metadata without files": (
        python(TF24, *GOOD, cuda="11.0", has_module=False),
        "tensorflow-files-missing",
        P,
        "no module tensorflow",
    ),
    "an import that fails": (replace(with_tf24(), imported=FAILS), "tensorflow-import-fails", P, "Descriptors"),
    "an import that sees no GPU": (imported(with_tf24(), "CPU"), "gpu-not-used", P, "sees no GPU"),
    "a release that the catalog does not have": (
        python(wheel("tensorflow", "1.2.1"), version="3.6.15"),
        "tensorflow-not-in-catalog",
        N,
        "1.2.1",
    ),
    "a build for AMD's GPUs": (
        python(wheel("tensorflow-rocm", "2.14.0"), info=(("is_cuda_build", "False"), ("is_rocm_build", "True"))),
        "tensorflow-not-in-catalog",
        N,
        "ROCm",
    ),
    "a module without metadata": (python(), "tensorflow-not-in-catalog", N, "has no metadata"),
}

PASSES = {
    "all as the row has it": with_tf24(),
    "protobuf 3.20 beside 2.4": with_tf24(wheel("protobuf", "3.20.3")),
    "protobuf 4 beside 2.15": with_tf215(*packages(numpy="1.26.4", protobuf="4.25.3", keras="2.15.0")),
    "NumPy 2 beside 2.18": python(
        wheel("tensorflow-cpu", "2.18.1", "numpy (<2.1.0,>=1.26.0)"),
        *packages(numpy="2.0.2", keras="3.8.0"),
        version="3.11.7",
    ),
    "Keras 2.1.5 beside 1.4.1": old("1.4.1", "2.1.5"),
    "Keras 2.2.4 beside 1.15": old("1.15.5", "2.2.4"),
    "a Keras that nobody tried": with_tf24(wheel("keras", "2.4.1")),
    "a CPU build without a GPU": with_tf215(*packages(numpy="1.26.4", protobuf="4.25.3", keras="2.15.0")),
    "cuDNN 8.6 beside 2.4, which takes any later 8.x": with_tf24(
        files=(*ALL24[:-1], cuda_file("libcudnn.so.8", version="8.6.0"))
    ),
    "a cuDNN that does not report its version": with_tf24(files=(*ALL24[:-1], cuda_file("libcudnn.so.8"))),
    "all in wheels that this release finds": with_tf24(
        files=cuda_files("tf-2.4-cuda11.0", via="RUNPATH", folder=WHEELS)
    ),
    "cuDNN from a wheel beside a toolkit": with_tf24(
        files=(
            *cuda_files("tf-2.4-cuda11.0", without="libcudnn.so.8", folder="/usr/local/cuda-11.0/lib64"),
            cuda_file("libcudnn.so.8", via="LD_LIBRARY_PATH", folder=WHEELS),
        )
    ),
    "cuBLAS of CUDA 10.1 in a system directory": with_tf24(
        files=(
            *cuda_files("tf-2.4-cuda11.0", without="libcublas.so.11", folder="/usr/local/cuda-11.0/lib64"),
            cuda_file("libcublas.so.11"),
        )
    ),
    "a build of one's own with another CUDA": python(TF24, *GOOD, cuda="11.8", has_gpu=True),
    "NVIDIA's build": python(wheel("tensorflow", "2.15.0+nv24.3"), cuda="12.4", has_gpu=True, version="3.11.7"),
    "NVIDIA's build of an old release, for which the bounds of the row were not made": python(
        wheel("tensorflow", "1.15.5+nv23.3"), *packages(numpy="1.22.4", protobuf="4.21.12"), cuda="12.1", has_gpu=True
    ),
    "an import that sees the GPU": imported(with_tf24(), "CPU", "GPU"),
    "TensorFlow's estimator is no second TensorFlow": with_tf24(wheel("tensorflow-estimator", "2.4.0")),
    "a requirement for another system": python(
        wheel("tensorflow-cpu", "2.15.1", "tensorflow-intel ==2.15.1 ; platform_system == 'Windows'"),
        *packages(numpy="1.26.4", keras="2.15.0"),
        version="3.11.7",
    ),
    "no TensorFlow": python(*packages(numpy="2.4.6", protobuf="6.33.0"), has_module=False, has_gpu=True),
}


@pytest.mark.parametrize(("seen", "name", "severity", "text"), CATCHES.values(), ids=CATCHES)
def test_what_does_not_fit_is_found(seen: Facts, name: str, severity: Severity, text: str) -> None:
    finding = found(seen)[name]
    assert finding.severity is severity
    assert all(part in finding.message + finding.effect for part in text.split(".*"))
    assert severity is N or finding.remedies


@pytest.mark.parametrize("seen", PASSES.values(), ids=PASSES)
def test_what_fits_is_not_complained_about(seen: Facts) -> None:
    assert found(seen) == {}


def test_every_finding_in_the_code_is_caught_here() -> None:
    folder = Path(examining.__file__).parent
    code = "".join(
        (folder / name).read_text(encoding="utf-8") for name in ("package_findings.py", "library_findings.py")
    )
    assert set(re.findall(r'(?:finding|problem|warning|note)\(\s*"([a-z-]+)"', code)) == {
        name for _, name, _, _ in CATCHES.values()
    }


def test_missing_libraries_are_a_note_where_nothing_would_use_them() -> None:
    assert found(with_tf24(files=(), has_gpu=False))["cuda-libraries-missing"].severity is N


def test_the_command_installs_what_the_release_and_its_row_allow() -> None:
    seen = with_tf24(wheel("protobuf", "4.21.12"))
    first = found(seen)["package-breaks-import"].remedies[0]
    assert first.command == "/venv/bin/python -m pip install 'protobuf<3.21,>=3.9.2'"


def test_libraries_beside_the_path_are_put_on_it() -> None:
    files = (*ALL24[:-1], cuda_file("libcudnn.so.8", via="", folder=WHEELS))
    remedy = found(with_tf24(files=files))["cuda-libraries-unreachable"].remedies[0]
    assert remedy.command == f"export LD_LIBRARY_PATH={WHEELS}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"


def test_the_command_that_shows_why_no_gpu_is_used_is_one_that_a_shell_runs() -> None:
    command = found(imported(with_tf24(), "CPU"))["gpu-not-used"].remedies[0].command
    level, program, option, code = shlex.split(command)
    assert (level, program, option) == ("TF_CPP_MIN_LOG_LEVEL=0", "/venv/bin/python", "-c")
    assert ast.parse(code)


def test_an_import_that_works_is_believed_more_than_an_advisory() -> None:
    assert "package-breaks-import" not in found(imported(with_tf24(wheel("protobuf", "4.21.12")), "GPU"))


def test_the_build_is_told_by_the_release_or_by_the_catalog() -> None:
    told = examination(with_tf24()).versions
    silent = examination(python(TF17, info=(("is_cuda_build", "True"),))).versions
    assert told
    assert told.tensorflow
    assert silent
    assert silent.tensorflow
    assert (str(told.tensorflow.cuda), str(told.tensorflow.cudnn), told.tensorflow.told_by) == (
        "11.0", "8.0.4", "build_info, catalog",
    )  # fmt: skip
    need = real_row("tf-1.7-cuda9.0").cuda
    assert need
    assert (silent.tensorflow.cuda, silent.tensorflow.cudnn, silent.tensorflow.told_by) == (
        need.compiled, need.cudnn.compiled, "catalog",
    )  # fmt: skip


@pytest.mark.parametrize(("needed", "is_cuda"), [(("libcudart.so.9.0",), True), ((), None)])
def test_a_release_that_does_not_tell_its_build_is_known_by_what_it_is_linked_against(
    needed: tuple[str, ...], is_cuda: bool | None
) -> None:
    versions = examination(python(TF17, info=(), needed=needed)).versions
    assert versions
    assert versions.tensorflow
    assert versions.tensorflow.cuda_build is is_cuda


@pytest.mark.parametrize(
    ("file", "version"),
    [
        (cuda_file("libcudnn.so.8", version="8.6.0"), "8.6.0"),
        (cuda_file("libcudnn.so.8", folder=WHEELS), "8.9.7.29"),
        (cuda_file("libcudnn.so.8"), None),
        (cuda_file("libcublas.so.12", folder=f"{SITE}/nvidia/cublas/lib"), "12.3.4.1"),
    ],
)
def test_the_version_of_a_library_is_in_its_file_name_or_in_its_wheel(file: CudaFile, version: str | None) -> None:
    wheels = packages(nvidia_cudnn_cu12="8.9.7.29", nvidia_cublas_cu11="11.11.3.6", nvidia_cublas_cu12="12.3.4.1")
    versions = examination(python(*wheels, files=(file,))).versions
    assert versions
    assert [str(each.version) if each.version else None for each in versions.libraries] == [version]
