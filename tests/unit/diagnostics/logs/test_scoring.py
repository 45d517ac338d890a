"""Precedence: the root cause and not the last line, and nothing where nothing failed."""

from __future__ import annotations

import pytest

from tests.unit.diagnostics.logs.logs import CUDNN_MISSING, OOM, classes, judged

UNKNOWN = "E cuda_driver.cc:318] failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error"
NO_PROC = "I cuda_diagnostics.cc:156] kernel driver does not appear to be running on this host ({}): x"
NO_LIBCUDA = "W dso_loader.cc:64] Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: not found"
CONVOLUTION = "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize"
HANDLE = "E cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR"
NOISE = "E cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN"
TRACEBACK = "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ((UNKNOWN,), "cuda-unknown-error"),
        ((UNKNOWN, NO_PROC.format("0123456789ab")), "no-driver-or-gpu-not-passed"),
        ((UNKNOWN, "kernel version 390.48.0 does not match DSO version 390.87.0"), "driver-library-mismatch"),
        ((CONVOLUTION,), "cudnn-init-failed"),
        ((CUDNN_MISSING, CONVOLUTION), "cudnn-missing"),
        (
            ("Loaded runtime CuDNN library: 7.1.4 but source was compiled with: 7.4.1.", CONVOLUTION),
            "cudnn-version-mismatch",
        ),
        (("totalMemory: 10.92GiB freeMemory: 151.12MiB", HANDLE, OOM), "oom-other-process"),
        (("totalMemory: 10.92GiB freeMemory: 10.70GiB", OOM), "oom-batch-too-large"),
        (("failed to allocate 3.00G (3221225472 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY", "Killed"), "host-oom"),
        ((OOM, "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."), "hardware-fault"),
        ((NO_LIBCUDA, "AttributeError: module 'tensorflow' has no attribute 'Session'"), "keras-tf-mismatch"),
        ((NO_LIBCUDA, "ValueError: Shapes (None, 1) and (None, 10) are incompatible"), "user-code"),
        ((NO_LIBCUDA, "nvidia-smi: command not found"), "no-driver-or-gpu-not-passed"),
        ((NO_LIBCUDA, "uname: 5.15.90.1-microsoft-standard-WSL2"), "wsl"),
        ((NO_LIBCUDA, NO_PROC.format("fv-az12-3")), "harmless-cpu-only"),
        ((NOISE,), "harmless-noise"),
    ],
    ids=str,
)
def test_the_root_cause_stands_first(lines: tuple[str, ...], cause: str) -> None:
    assert classes("\n".join(lines))[0] == cause


@pytest.mark.parametrize("log", ["", "\n", "all is well\n", "nothing of ours: error: file not found\n"])
def test_nothing_found_is_an_answer(log: str) -> None:
    assert judged(log).causes == ()


def test_noise_before_an_unknown_failure_is_not_called_harmless() -> None:
    assert classes(f"{NOISE}\n{TRACEBACK}\nsomebody.OwnProblem: went wrong\n") == ()


def test_a_hidden_gpu_is_harmless_until_the_program_demands_one() -> None:
    hidden = 'I0000 cuda_diagnostics.cc:160] env: CUDA_VISIBLE_DEVICES="-1"\nCUDA_ERROR_NO_DEVICE'
    assert classes(f"{hidden}\nEpoch 1/5\n")[0] == "harmless-cpu-only"
    assert classes(f"{hidden}\nAssertionError: this job needs a GPU\n")[0] == "visible-devices-mistake"


def test_an_allocation_that_was_caught_is_no_failure() -> None:
    failed = f"{NOISE}\nW bfc_allocator.cc:501] {OOM}"
    assert classes(f"{failed}\nTraceback (most recent call last):\n")[0] == "oom-batch-too-large"
    assert classes(f"{failed}\nbatch 64 does not fit, trying 32\nEpoch 1/5\n")[0] == "harmless-noise"


def test_the_allocators_figures_tell_pieces_from_too_much() -> None:
    asked = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op x"
    )
    limit = "Limit:                  8000000000"
    assert classes(f"{asked}\n{limit}\nInUse:                  5000000000\n")[0] == "oom-fragmentation"
    assert classes(f"{asked}\n{limit}\nInUse:                  7900000000\n")[0] == "oom-batch-too-large"


def test_candidates_come_with_the_command_that_tells_them_apart() -> None:
    found = judged(HANDLE)
    assert {cause.finding.id for cause in found.causes} == {"oom-preallocation", "cudnn-init-failed"}
    assert all(cause.tell for cause in found.causes)
    assert all(cause.confidence < 0.7 for cause in found.causes)


def test_what_follows_from_a_cause_is_named_and_not_ranked() -> None:
    first = judged(f"{CUDNN_MISSING}\n{CONVOLUTION}\n").causes[0]
    assert first.explains == ("cudnn-init-failed",)


def test_the_proof_quotes_lines_with_their_numbers() -> None:
    cause = judged(f"x\ny\n{OOM}\n").causes[0]
    assert cause.finding.evidence[0].line == 3
    assert "OOM when allocating tensor" in cause.finding.evidence[0].text


def test_two_packages_of_one_tensorflow_are_a_mix_when_their_releases_differ() -> None:
    listed = "tensorflow            1.8.0\n{}\nAttributeError: 'module' object has no attribute 'Exporter'\n"
    assert "mixed-install" in classes(listed.format("tensorflow-gpu        1.3.0"))
    assert "mixed-install" not in classes(listed.format("tensorflow-estimator  1.8.0"))
    assert "mixed-install" in classes("Name: tensorflow\nVersion: 1.8.0\n---\nName: tensorflow-gpu\nVersion: 1.3.0\n")


def test_a_gpu_that_came_after_the_runtime_is_compiled_for_at_start() -> None:
    log = (
        "I dso_loader.cc:49] Successfully opened dynamic library libcudart.so.{}\n"
        "I gpu_device.cc:1720] Found device 0 with properties:\n"
        "pciBusID: 0000:73:00.0 name: GeForce RTX 3080 computeCapability: 8.6\n"
    )
    assert classes(log.format("10.1")) == ("ptx-jit",)
    assert classes(log.format("11.0")) == ("harmless-noise",)


def test_a_cut_log_with_a_missing_runtime_alone_is_not_called_sure() -> None:
    missing = (
        "W dso_loader.cc:64] Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found"
    )
    alone = {cause.finding.id: cause.confidence for cause in judged(missing).causes}
    wanted = {cause.finding.id: cause.confidence for cause in judged(f"{missing}\nNum GPUs Available:  0").causes}
    assert alone["cuda-soname-missing"] <= 0.7 < wanted["cuda-soname-missing"]


def test_wsl_1_and_a_list_of_devices_that_is_none_are_named() -> None:
    assert classes(f"Linux version 4.4.0-19041-Microsoft\n{NO_LIBCUDA}")[0] == "wsl"
    assert classes("CUDA_VISIBLE_DEVICES=$0 python train.py\nno CUDA-capable device is detected")[0] == (
        "visible-devices-mistake"
    )


def test_the_pool_of_pinned_memory_is_main_memory() -> None:
    ran_out = "W bfc_allocator.cc:273] Allocator ({}) ran out of memory trying to allocate 3.72GiB.  Current allocation"
    shape = "W op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with shape[1000,250,4]"
    assert classes(f"{ran_out.format('cuda_host_bfc')}\n{shape}")[0] == "host-oom"
    assert classes(f"{ran_out.format('GPU_0_bfc')}\n{shape}")[0] == "oom-batch-too-large"


def test_no_cudnn_at_all_is_told_from_a_cudnn_of_another_release() -> None:
    line = "F cuda_dnn.cc:207] could not find {0} in cudnn DSO; dlerror: _pywrap_tensorflow.so: undefined symbol: {0}"
    assert classes(line.format("cudnnCreate"))[0] == "cudnn-missing"
    assert classes(line.format("cudnnSetRNNDescriptor_v6"))[0] == "cudnn-version-mismatch"


def test_a_handle_that_fails_has_two_candidates_and_a_check_of_tensorflow_1_turns_them() -> None:
    check = "F conv_ops.cc:717] Check failed: stream->parent()->GetConvolveAlgorithms( conv_parameters"
    assert classes(HANDLE)[:2] == ("cudnn-init-failed", "oom-preallocation")
    assert classes(f"{HANDLE}\n{check}")[:2] == ("oom-preallocation", "cudnn-init-failed")


AMBIGUOUS = [
    HANDLE,
    CONVOLUTION,
    "E cuda_blas.cc:366] failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED",
    "E cuda_blas.cc:366] failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED",
    "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    OOM,
    "Segmentation fault (core dumped)",
    NOISE,
]


@pytest.mark.parametrize("line", AMBIGUOUS)
def test_a_symptom_with_several_causes_leaves_the_first_uncertain(line: str) -> None:
    first = judged(line).causes[0]
    assert first.confidence < 0.6
    assert first.tell or first.is_harmless or first.finding.id == "native-crash" or len(judged(line).causes) > 1


def test_memory_figures_decide_what_a_refused_allocation_alone_does_not() -> None:
    assert judged(f"totalMemory: 10.92GiB freeMemory: 10.70GiB\n{OOM}").causes[0].confidence > 0.7


def test_harmless_needs_later_output_as_proof() -> None:
    alone, proven = judged(NOISE).causes[0], judged(f"{NOISE}\nEpoch 1/5\n").causes[0]
    assert (alone.finding.id, proven.finding.id) == ("harmless-noise", "harmless-noise")
    assert alone.confidence < 0.6 < proven.confidence
    assert any("went on" in note for note in alone.notes)
    assert not proven.notes


@pytest.mark.parametrize("end", ["Getötet", "Abgebrochen (Speicherabzug geschrieben)", "已放弃 (核心已转储)", "Killed"])
def test_a_log_that_ends_with_a_dead_process_is_not_harmless(end: str) -> None:
    assert not [name for name in classes(f"{NOISE}\nEpoch 1/5\n{end}\n") if name.startswith("harmless")]


def test_a_build_for_amd_is_recognized_whatever_else_its_messages_say() -> None:
    log = (
        "Couldn't open CUDA library libMIOpen.so. LD_LIBRARY_PATH:\nUnable to load cuDNN DSO\n"
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
    )
    assert classes(log)[0] == "rocm-build"


def test_a_heading_with_the_word_memory_error_is_no_proof() -> None:
    assert classes("## 2.1 OutOfMemoryError on the larger GPU\nsee below\n") == ()
    assert classes("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB")[0] == "host-oom"


def test_a_module_that_hides_tensorflow_is_told_from_a_damaged_installation() -> None:
    error = "AttributeError: module 'tensorflow' has no attribute 'Variable'"
    assert classes(f'  File "/home/me/tensorflow.py", line 3, in <module>\n{error}\n')[0] == "user-code"
    assert classes(error)[0] == "mixed-install"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("IndentationError: unexpected indent", "user-code"),
        ("NameError: name 'modle' is not defined", "user-code"),
        ("ModuleNotFoundError: No module named 'tqdm'", "user-code"),
        ("ValueError: Shapes (None, 1) and (None, 10) are incompatible", "user-code"),
        ("InvalidArgumentError: logits and labels must be broadcastable: logits_size=[32,2]", "user-code"),
        ("ModuleNotFoundError: No module named 'tensorflow.contrib'", "keras-tf-mismatch"),
    ],
)
def test_errors_of_the_program_are_told_from_those_of_the_environment(line: str, cause: str) -> None:
    assert classes(line)[0] == cause
