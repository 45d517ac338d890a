"""The table of all checks, in the order of a report."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.checks import (
    driver,
    framework,
    gpu,
    gpu_numbers,
    gpu_work,
    hardware,
    interpreter,
    libraries,
    memory,
    nvml,
)
from envbuilder.diagnostics.checks.check import (
    RUNNING,
    WITH_GPU,
    Check,
    Examine,
    always,
    has_cuda,
    has_functions,
    has_xla,
    nowhere,
    on_cuda,
    opens_cuda_late,
)
from envbuilder.diagnostics.checks.results import Tier
from envbuilder.diagnostics.facts.facts import Facts


def _running(name: str, title: str, examine: Examine, applies: Callable[[Expectation], bool] = always) -> Check:
    return Check(id=name, title=title, tiers=RUNNING, examine=examine, applies=applies)


def _with_gpu(
    name: str,
    title: str,
    examine: Examine,
    applies: Callable[[Expectation], bool] = always,
    beside: Callable[[Facts], str] = nowhere,
) -> Check:
    return Check(id=name, title=title, tiers=WITH_GPU, examine=examine, applies=applies, beside=beside)


CHECKS: tuple[Check, ...] = (
    _running("python-version", "Python version", interpreter.python_version),
    _running("glibc-floor", "C library", interpreter.glibc_floor),
    _running("cpu-avx", "processor has AVX", interpreter.cpu_avx),
    _running("distributions-present", "installed packages", interpreter.distributions_present),
    _running("cuda-libraries-load", "CUDA libraries open", on_cuda(libraries.cuda_libraries_load), applies=has_cuda),
    _running("cuda-runtime-version", "CUDA runtime version", on_cuda(libraries.cuda_runtime_version), applies=has_cuda),
    _running("cudnn-version", "cuDNN version", on_cuda(libraries.cudnn_version), applies=has_cuda),
    _running("cudnn-starts", "cuDNN starts", on_cuda(libraries.cudnn_starts), applies=has_cuda),
    _running("no-cuda-stub", "no driver stub", libraries.no_cuda_stub),
    _running("tensorflow-imports", "import tensorflow", framework.tensorflow_imports),
    _running("tensorflow-version", "TensorFlow version", framework.tensorflow_version),
    _running("tensorflow-built-with-cuda", "TensorFlow's CUDA build", framework.tensorflow_built_with_cuda),
    _running(
        "tensorflow-cuda-libraries",
        "TensorFlow finds CUDA",
        on_cuda(framework.tensorflow_cuda_libraries),
        applies=opens_cuda_late,
    ),
    _running("memory-policy-applied", "GPU memory policy", memory.memory_policy_applied, applies=memory.has_policy),
    _running("training-loss-falls", "training", framework.training_loss_falls),
    _running("save-load-equal", "saving and loading", framework.save_load_equal),
    _with_gpu("driver-present", "driver and GPU", driver.driver_present),
    _with_gpu("driver-floor", "driver release", on_cuda(driver.driver_floor)),
    _with_gpu("nvml-agrees", "NVML and CUDA agree", nvml.nvml_agrees),
    _with_gpu("gpu-memory-free", "free GPU memory", nvml.gpu_memory_free),
    _with_gpu("cublas-result-right", "cuBLAS without TensorFlow", on_cuda(hardware.cublas_result_right)),
    _with_gpu("cudnn-result-right", "cuDNN without TensorFlow", on_cuda(hardware.cudnn_result_right)),
    _with_gpu("gpu-visible-to-tensorflow", "TensorFlow sees the GPUs", on_cuda(gpu.gpu_visible_to_tensorflow)),
    _with_gpu("gpu-architecture-covered", "code for the GPUs", on_cuda(gpu.gpu_architecture_covered)),
    _with_gpu("gpu-matmul-on-gpu", "matrix product on GPU", gpu.gpu_matmul_on_gpu),
    _with_gpu("gpu-convolution-on-gpu", "convolution on GPU", gpu.gpu_convolution_on_gpu),
    _with_gpu("gpu-first-kernel", "first kernel", gpu_work.gpu_first_kernel),
    _with_gpu(
        "gpu-convolution-gradient-on-gpu", "convolution gradient on GPU", gpu_numbers.on_gpu(lambda work: work.gradient)
    ),
    _with_gpu("gpu-batch-norm-on-gpu", "batch normalisation on GPU", gpu_numbers.on_gpu(lambda work: work.batch_norm)),
    _with_gpu("gpu-rnn-on-gpu", "LSTM on GPU", gpu_numbers.on_gpu(lambda work: work.rnn)),
    _with_gpu("gpu-training-loss-falls", "training on GPU", gpu_work.gpu_training_loss_falls),
    _with_gpu(
        "gpu-function-equals-eager", "functions on GPU", gpu_numbers.gpu_function_equals_eager, applies=has_functions
    ),
    _with_gpu("gpu-xla", "XLA on GPU", gpu_numbers.gpu_xla, applies=has_xla),
    _with_gpu("gpu-mixed-precision", "mixed precision on GPU", gpu_numbers.gpu_mixed_precision),
    _with_gpu("gpu-latency", "latency of a kernel", gpu_work.gpu_latency),
    _with_gpu("gpu-throughput", "rate of matrix products", gpu_work.gpu_throughput),
    _with_gpu("gpu-all-reduce", "GPUs together", gpu_work.gpu_all_reduce, beside=gpu_work.one_gpu),
    _with_gpu("gpu-memory-policy", "GPU memory", gpu_work.gpu_memory_policy),
    _with_gpu("gpu-memory-recovers", "GPU memory after a refusal", gpu_work.gpu_memory_recovers),
)


def bare_checks() -> tuple[Check, ...]:
    """Return the checks of the CPU tier that apply outside of an image, where no CUDA libraries are installed."""
    return tuple(check for check in checks_for(Tier.CPU) if check.applies is always)


def checks_for(tier: Tier) -> tuple[Check, ...]:
    """Return the checks of a tier, in the order of the table; none for `static`, where nothing is run."""
    return tuple(check for check in CHECKS if tier in check.tiers)
