"""Remedies for the versions of this log, from the catalog."""

from __future__ import annotations

import pytest

from envbuilder.diagnosing.known import Known
from envbuilder.diagnosing.stating import size_of
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.versions import Release
from tests.fakes.catalogs import real_catalog
from tests.unit.diagnosing.logs import CUDNN_MISSING, judged

INSUFFICIENT = "cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version"


def fix(log: str, known: Known | None = None) -> tuple[str, tuple[str, ...]]:
    first = judged(log, known).causes[0]
    return first.fix, first.commands


def test_a_driver_that_is_too_old_gets_the_floor_and_an_environment_that_it_runs() -> None:
    text, commands = fix(f"Driver Version: 418.87\nCuda compilation tools, release 10.2, V10.2.89\n{INSUFFICIENT}\n")
    assert "CUDA 10.2 needs driver 440.33 or newer; this one is 418.87" in text
    assert commands[-1] == "envbuilder build tf-2.3-cuda10.1"


def test_the_release_of_tensorflow_decides_before_the_toolkit_that_lies_about() -> None:
    text, _ = fix(f"TensorFlow version: 2.4.1\n/usr/local/cuda-10.2/lib64\nDriver Version: 418.87\n{INSUFFICIENT}\n")
    assert f"CUDA 11.0 needs driver {real_catalog().cuda.driver_floor(Release('11.0'))}" in text


def test_the_cuda_that_the_driver_does_not_run_is_the_one_that_is_named() -> None:
    text, _ = fix(f"TensorFlow 2.2.0\nUsing CUDA runtime 10.2\nDriver Version: 418.87.00\n{INSUFFICIENT}\n")
    assert "CUDA 10.2 needs driver 440.33 or newer; this one is 418.87.00" in text


def test_a_driver_that_is_new_enough_is_not_to_be_updated() -> None:
    text, commands = fix(f"TensorFlow 2.2.0\nDriver Version: 418.87.00\n{INSUFFICIENT}\n")
    assert "a libcudart of a newer CUDA is loaded instead" in text
    assert commands[0] == "ldconfig -p | grep libcudart"


def test_a_missing_library_names_the_environments_that_bring_it() -> None:
    text, commands = fix("ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory")
    assert "CUDA 9.0" in text
    assert commands[-1].startswith("envbuilder build tf-1.")
    text, _ = fix(f"TensorFlow version: 2.6.0\nFound device 0 with properties:\n{CUDNN_MISSING}\n")
    assert "TensorFlow 2.6.0 was built with CUDA 11.2 and cuDNN 8.1" in text


def test_a_dll_tells_the_cuda_release() -> None:
    text, _ = fix("ImportError: Could not find 'cudart64_90.dll'. TensorFlow requires that this DLL be installed")
    assert "CUDA 9.0" in text


@pytest.mark.parametrize(
    ("log", "command"),
    [
        (
            "TensorFlow version: 2.4.1\nTypeError: Descriptors cannot be created directly.",
            "pip install 'protobuf<3.21'",
        ),
        ("tensorflow==2.10.1\nAttributeError: _ARRAY_API not found", "pip install 'numpy<2'"),
        ("tensorflow==2.12.0\nModuleNotFoundError: No module named 'keras.api'", "pip install 'keras==2.12.*'"),
    ],
)
def test_a_package_is_bounded_as_its_row_says(log: str, command: str) -> None:
    assert command in fix(log)[1]


def test_a_gpu_gets_an_environment_with_code_for_it() -> None:
    log = (
        "Ignoring visible gpu device (device: 0, name: Tesla K20m, pci bus id: 0000:02:00.0, compute capability: 3.5) "
        "with Cuda compute capability 3.5. The minimum required Cuda capability is 3.7."
    )
    first = judged(log).causes[0]
    assert "Tesla K20m has compute capability 3.5" in first.cause
    assert first.commands[-1].startswith("envbuilder build tf-")


def test_facts_fill_what_the_log_does_not_say_and_speak_against_it() -> None:
    host = Host(name="node", driver=Release("535.54"), gpus=(HostGpu(name="A100", capability=Release("8.0")),))
    log = f"TensorFlow version: 2.15.0\n{INSUFFICIENT}\n"
    alone, with_facts = judged(log).causes[0], judged(log, Known(host=host)).causes[0]
    assert with_facts.confidence < alone.confidence
    assert any("535.54" in note for note in with_facts.notes)
    old = Known(host=Host(name="node", driver=Release("470.57")))
    assert judged(log, old).causes[0].confidence > alone.confidence


def test_a_lock_tells_the_release() -> None:
    text, _ = fix(CUDNN_MISSING, Known(tensorflow=Release("2.5.0")))
    assert "TensorFlow 2.5.0" in text


@pytest.mark.parametrize(
    ("text", "size"), [("2.00GiB", 2 << 30), ("163.62M", 171568005), ("12", 12), (".", 0), ("", 0)]
)
def test_sizes_are_read_as_tensorflow_writes_them(text: str, size: int) -> None:
    assert size_of(text) == size


def test_the_log_tells_of_versions() -> None:
    seen = judged(
        'File "/usr/lib/python3.6/site-packages/tensorflow/__init__.py"\npip install tensorflow-gpu==1.14.0\n'
        "name: Tesla P4 major: 6 minor: 1 memoryClockRate(GHz): 1.1\ntotalMemory: 7.43GiB freeMemory: 7.31GiB\n"
        "Loaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with 5110 (compat)\n"
    ).seen
    assert (str(seen.python), str(seen.tensorflow), seen.gpus) == ("3.6", "1.14.0", ("Tesla P4",))
    assert seen.capabilities == (Release("6.1"),)
    assert (str(seen.cudnn), str(seen.cudnn_compiled)) == ("5.0.5", "5.1.10")
