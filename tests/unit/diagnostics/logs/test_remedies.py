"""Remedies for the versions of this log, from the catalog."""

from __future__ import annotations

import pytest

from envbuilder.catalog.buildable import Inventory, PackedPython
from envbuilder.catalog.driver_floors import driver_floor
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.context import LogContext
from envbuilder.diagnostics.logs.evidence import size_of
from tests.fakes.catalogs import real_catalog
from tests.unit.diagnostics.logs.logs import CUDNN_MISSING, judged

INSUFFICIENT = "cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version"


def fix(log: str, known: LogContext | None = None) -> tuple[str, tuple[str, ...]]:
    first = judged(log, known).causes[0]
    return first.finding.remedy, first.commands


def test_a_driver_that_is_too_old_gets_the_floor_and_an_environment_that_it_runs() -> None:
    text, commands = fix(f"Driver Version: 418.87\nCuda compilation tools, release 10.2, V10.2.89\n{INSUFFICIENT}\n")
    assert "CUDA 10.2 needs driver 440.33 or newer; this one is 418.87" in text
    assert commands[-1] == "envbuilder build tf-2.3-cuda10.1 --accept-nvidia-eula"


def test_the_release_of_tensorflow_decides_before_the_toolkit_that_lies_about() -> None:
    text, _ = fix(f"TensorFlow version: 2.4.1\n/usr/local/cuda-10.2/lib64\nDriver Version: 418.87\n{INSUFFICIENT}\n")
    assert f"CUDA 11.0 needs driver {driver_floor(real_catalog().cuda, Release('11.0'))}" in text


def test_the_cuda_that_the_driver_does_not_run_is_the_one_that_is_named() -> None:
    text, _ = fix(f"TensorFlow 2.2.0\nUsing CUDA runtime 10.2\nDriver Version: 418.87.00\n{INSUFFICIENT}\n")
    assert "CUDA 10.2 needs driver 440.33 or newer; this one is 418.87.00" in text


def test_a_driver_that_is_new_enough_is_not_to_be_updated() -> None:
    text, commands = fix(f"TensorFlow 2.2.0\nDriver Version: 418.87.00\n{INSUFFICIENT}\n")
    assert "a libcudart of a newer CUDA is loaded instead" in text
    assert commands[0] == "ldconfig -p | grep libcudart"


def test_a_missing_library_without_a_release_names_a_range_and_asks() -> None:
    text, commands = fix("ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory")
    assert "TensorFlow 1.5 to 1.12 look for it: CUDA 9.0, with cuDNN 7.0 to 7.2." in text
    assert commands[0] == "python -m pip list | grep -i tensorflow"
    assert commands[-1] == "envbuilder list 'tf-*-cuda9.0'"
    assert not [command for command in commands if command.startswith("envbuilder build")]


def test_a_missing_library_of_a_known_release_names_its_cuda() -> None:
    text, commands = fix(f"TensorFlow version: 2.6.0\nFound device 0 with properties:\n{CUDNN_MISSING}\n")
    assert "TensorFlow 2.6.0 was built with CUDA 11.2 and cuDNN 8.1" in text
    assert commands[-1] == "envbuilder build tf-2.6-cuda11.2"


def test_all_libraries_that_are_missing_are_named() -> None:
    other = (
        "W dso_loader.cc:64] Could not load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11: not found"
    )
    text, _ = fix(f"tensorflow 2.8.0\n{other}\n{CUDNN_MISSING}\nCannot dlopen some GPU libraries.\n")
    assert "2 libraries are missing: libcusolver.so.11, libcudnn.so.8" in text


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
    assert "Tesla K20m has compute capability 3.5" in first.finding.message
    assert first.commands[-1].startswith("envbuilder build tf-")


def test_facts_fill_what_the_log_does_not_say_and_speak_against_it() -> None:
    host = Host(name="node", driver=Release("535.54"), gpus=(HostGpu(name="A100", capability=Release("8.0")),))
    log = f"TensorFlow version: 2.15.0\n{INSUFFICIENT}\n"
    alone, with_facts = judged(log).causes[0], judged(log, LogContext(host=host)).causes[0]
    assert with_facts.confidence < alone.confidence
    assert any("535.54" in note for note in with_facts.notes)
    old = LogContext(host=Host(name="node", driver=Release("470.57")))
    assert judged(log, old).causes[0].confidence > alone.confidence


def test_a_lock_tells_the_release() -> None:
    text, _ = fix(CUDNN_MISSING, LogContext(tensorflow=Release("2.5.0")))
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


LOADED = (
    "E cuda_dnn.cc:378] Loaded runtime CuDNN library: {} (compatibility version 7600) but source was compiled with {}."
)


def test_a_later_minor_cudnn_that_is_refused_proves_the_exact_rule() -> None:
    text, commands = fix(LOADED.format("7605", "7005"))
    assert "It needs cuDNN 7.0.x exactly instead of 7.6.5." in text
    assert "TensorFlow 1.5 to 1.7" in text
    assert "later minor" not in text
    assert "envbuilder build tf-1.10-cuda9.0" not in commands


def test_an_older_minor_cudnn_that_is_refused_leaves_the_later_ones() -> None:
    text, _ = fix(LOADED.format("7.1.4", "7.4.2"))
    assert "It needs cuDNN 7.4 or a later 7.x instead of 7.1.4." in text


PIECES = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op x\n"
    "Limit:                  8000000000\nInUse:                  5000000000\n"
)


@pytest.mark.parametrize(
    ("release", "commands"),
    [("2.4.1", ()), ("2.5.0", ()), ("2.6.0", ("export TF_GPU_ALLOCATOR=cuda_malloc_async",))],
)
def test_the_asynchronous_allocator_is_for_releases_that_have_it(release: str, commands: tuple[str, ...]) -> None:
    assert fix(f"TensorFlow version: {release}\n{PIECES}")[1] == commands


def test_a_remedy_for_some_releases_says_for_which_when_the_log_does_not_name_one() -> None:
    text, commands = fix(PIECES)
    assert "From TensorFlow 2.6 on" in text
    assert not [command for command in commands if "TF_GPU_ALLOCATOR" in command]


def test_memory_that_grows_is_asked_for_as_the_release_allows() -> None:
    second = "import torch\nCUDA out of memory. Tried to allocate 20.00 MiB\ntensorflow\n"
    assert "allow_growth = True" in fix(f"{second}TensorFlow version: 1.12.0\n")[1][0]
    assert fix(f"{second}TensorFlow version: 2.4.0\n")[1] == ("export TF_FORCE_GPU_ALLOW_GROWTH=true",)


def test_a_function_that_no_release_has_is_the_programs_fault() -> None:
    error = "AttributeError: module 'tensorflow._api.v2.test' has no attribute '{}'"
    log = f"TensorFlow version: 2.15.1\nKeras 2.15.0\n{error}"
    first = judged(log.format("is_built_with_cudnn")).causes[0]
    assert first.finding.id == "user-code"
    assert "tf.sysconfig.get_build_info()" in first.finding.remedy
    assert not [command for command in first.commands if "pip install" in command]
    other = judged(log.format("is_built_with_nothing")).causes[0]
    assert other.confidence < 0.6
    assert "No release of TensorFlow from 1.4 to 2.21 has tf.test.is_built_with_nothing" in other.finding.message


def test_a_keras_that_does_not_go_with_its_tensorflow_explains_a_crash() -> None:
    first = judged("Keras 2.2.4\nTensorFlow 1.4.1\nSegmentation fault (core dumped)\n").causes[0]
    assert first.finding.id == "keras-tf-mismatch"
    assert first.finding.message.startswith("Keras 2.2.4 does not work with TensorFlow 1.4.1")
    assert first.commands[0] == "pip install 'keras==2.1.5'"
    assert judged("Keras 2.1.5\nTensorFlow 1.4.1\nSegmentation fault\n").causes[0].finding.id == "native-crash"


def test_the_release_of_tf_keras_is_not_taken_for_the_package() -> None:
    for keras in ("tf.keras 2.4.0", "Keras version: 2.2.4-tf", "Keras 2.4.0"):
        assert judged(f"TensorFlow 2.4.1\n{keras}\nSegmentation fault\n").causes[0].finding.id == "native-crash"


EXECUTION = "E cuda_blas.cc:654] failed to run cuBLAS routine cublasSgemm_v2: CUBLAS_STATUS_EXECUTION_FAILED\n"


@pytest.mark.parametrize(
    ("log", "command"),
    [
        (
            "tensorflow-gpu==1.7.0\nname: GeForce RTX 2080 Ti major: 7 minor: 5 memory\n",
            "tf-1.13-cuda10.0 --accept-nvidia-eula",
        ),
        ("tensorflow==2.1.0\nname: GeForce RTX 3090 computeCapability: 8.6\n", "tf-2.4-cuda11.0"),
        (
            "name: GeForce RTX 3090 computeCapability: 8.6\nSuccessfully opened dynamic library libcublas.so.10.0\n",
            "tf-2.4-cuda11.0",
        ),
        ("tensorflow-gpu 1.15.2 on an RTX 4090\n", "tf-2.4-cuda11.0"),
    ],
)
def test_a_newer_gpu_gets_the_nearest_environment_and_not_the_newest(log: str, command: str) -> None:
    first = judged(log + EXECUTION).causes[0]
    assert first.finding.id == "gpu-arch-unsupported"
    if "4090" not in log:
        assert first.commands[-1] == f"envbuilder build {command}"
    else:
        assert first.commands[-1].startswith("envbuilder build tf-2.")


def test_a_gpu_that_no_wheel_has_code_for_is_sent_to_nvidias_own_build() -> None:
    jit = (
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. CUDA kernels will"
    )
    first = judged(f"tensorflow==2.19.0\n{jit}\nfailed with 'CUDA_ERROR_INVALID_HANDLE'\nInternalError: x\n").causes[0]
    assert first.finding.id == "gpu-arch-unsupported"
    assert "25.02-tf2-py3" in first.finding.remedy
    assert "Wait" not in first.finding.remedy
    assert not [command for command in first.commands if command.startswith("envbuilder build")]


ATTRIBUTE = "AttributeError: module 'tensorflow' has no attribute '{}'\n"


@pytest.mark.parametrize(
    ("log", "words", "command"),
    [
        ("tensorflow-gpu==1.7.0\n" + ATTRIBUTE.format("distribute"), "from 1.13 on", "tf-1.13-cuda10.0"),
        ("TensorFlow version: 2.4.1\n" + ATTRIBUTE.format("Session"), "up to 1.15", "tf-1.15-cuda10.0"),
        ("ModuleNotFoundError: No module named 'tensorflow.contrib'\n", "up to 1.15", "tf-1.15-cuda10.0"),
        (
            "    net = tf.contrib.distribute.MirroredStrategy(2)\n" + ATTRIBUTE.format("contrib"),
            "in 1.8 to 1.15",
            "tf-1.15-cuda10.0",
        ),
    ],
)
def test_a_missing_name_names_the_releases_that_a_program_was_written_for(log: str, words: str, command: str) -> None:
    first = judged(log).causes[0]
    assert first.finding.id == "keras-tf-mismatch"
    assert words in first.finding.message
    assert first.commands[-1] == f"envbuilder build {command} --accept-nvidia-eula"


def test_only_what_left_with_tensorflow_1_is_sought_in_its_compatible_interface() -> None:
    seen = "TensorFlow version: 2.4.1\n"
    assert "tensorflow.compat.v1" in fix(seen + ATTRIBUTE.format("Session"))[0]
    assert "tensorflow.compat.v1" not in fix(seen + ATTRIBUTE.format("contrib"))[0]


def test_a_name_that_the_release_has_is_no_reason_to_change_the_release() -> None:
    found = {cause.finding.id: cause for cause in judged("tensorflow==2.4.1\n" + ATTRIBUTE.format("function")).causes}
    assert max(cause.confidence for cause in found.values()) < 0.6
    assert "tf.__file__" in found["keras-tf-mismatch"].commands[0]


def test_no_environment_is_recommended_that_cannot_be_built() -> None:
    nothing = Inventory()
    with_python = Inventory(pythons=(PackedPython(version=Release("3.7.16"), glibc=Release("2.17")),))
    log = "tensorflow-gpu==1.7.0\nname: GeForce RTX 2080 Ti major: 7 minor: 5 memory\n" + EXECUTION
    first = judged(log, inventory=nothing).causes[0]
    assert first.commands[-1] == "envbuilder build tf-2.2-cuda10.1 --accept-nvidia-eula"
    assert "tf-1.13-cuda10.0 is nearer, but cannot be built from here: " in first.finding.remedy
    assert "NVIDIA's own container 23.03-tf1-py3 has TensorFlow 1.15.5" in first.finding.remedy
    program = judged("TensorFlow version: 2.4.1\n" + ATTRIBUTE.format("contrib"), inventory=with_python).causes[0]
    assert program.commands[-1] == "envbuilder build tf-1.15-cpu"
    assert "tf-1.15-cuda10.0 is nearer" in program.finding.remedy
    lost = judged("TensorFlow version: 2.4.1\n" + ATTRIBUTE.format("contrib"), inventory=nothing).causes[0]
    assert "The nearest, tf-1.15-cuda10.0, cannot be built from here: " in lost.finding.remedy
    assert lost.commands[-1] == "envbuilder advise --tensorflow 1.15"


def test_ids_of_environments_that_cannot_be_built_are_left_out_of_ranges() -> None:
    missing = "ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory"
    for log in (missing, LOADED.format("7605", "7005")):
        assert "tf-1." in judged(log).causes[0].finding.remedy
        assert "tf-1." not in judged(log, inventory=Inventory()).causes[0].finding.remedy
