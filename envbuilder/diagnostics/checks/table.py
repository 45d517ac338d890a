"""The table of all checks, in the order of a report."""

from __future__ import annotations

from envbuilder.diagnostics.checks import (
    distributions,
    driver,
    framework,
    gpu,
    gpu_memory,
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
    always,
    has_cuda,
    has_functions,
    has_xla,
    on_cuda,
    opens_cuda_late,
)
from envbuilder.diagnostics.checks.results import Tier

CHECKS: tuple[Check, ...] = (
    Check(id="python-version", title="Python version", tiers=RUNNING, examine=interpreter.python_version),
    Check(id="glibc-floor", title="C library", tiers=RUNNING, examine=interpreter.glibc_floor),
    Check(id="cpu-avx", title="processor has AVX", tiers=RUNNING, examine=interpreter.cpu_avx),
    Check(
        id="distributions-present",
        title="installed packages",
        tiers=RUNNING,
        examine=distributions.distributions_present,
    ),
    Check(
        id="cuda-libraries-load",
        title="CUDA libraries open",
        tiers=RUNNING,
        examine=on_cuda(libraries.cuda_libraries_load),
        applies=has_cuda,
    ),
    Check(
        id="cuda-runtime-version",
        title="CUDA runtime version",
        tiers=RUNNING,
        examine=on_cuda(libraries.cuda_runtime_version),
        applies=has_cuda,
    ),
    Check(
        id="cudnn-version",
        title="cuDNN version",
        tiers=RUNNING,
        examine=on_cuda(libraries.cudnn_version),
        applies=has_cuda,
    ),
    Check(
        id="cudnn-starts",
        title="cuDNN starts",
        tiers=RUNNING,
        examine=on_cuda(libraries.cudnn_starts),
        applies=has_cuda,
    ),
    Check(id="no-cuda-stub", title="no driver stub", tiers=RUNNING, examine=libraries.no_cuda_stub),
    Check(id="tensorflow-imports", title="import tensorflow", tiers=RUNNING, examine=framework.tensorflow_imports),
    Check(id="tensorflow-version", title="TensorFlow version", tiers=RUNNING, examine=framework.tensorflow_version),
    Check(
        id="tensorflow-built-with-cuda",
        title="TensorFlow's CUDA build",
        tiers=RUNNING,
        examine=framework.tensorflow_built_with_cuda,
    ),
    Check(
        id="tensorflow-cuda-libraries",
        title="TensorFlow finds CUDA",
        tiers=RUNNING,
        examine=on_cuda(framework.tensorflow_cuda_libraries),
        applies=opens_cuda_late,
    ),
    Check(
        id="memory-policy-applied",
        title="GPU memory policy",
        tiers=RUNNING,
        examine=memory.memory_policy_applied,
        applies=memory.has_policy,
    ),
    Check(id="training-loss-falls", title="training", tiers=RUNNING, examine=framework.training_loss_falls),
    Check(id="save-load-equal", title="saving and loading", tiers=RUNNING, examine=framework.save_load_equal),
    Check(id="driver-present", title="driver and GPU", tiers=WITH_GPU, examine=driver.driver_present),
    Check(id="driver-floor", title="driver release", tiers=WITH_GPU, examine=on_cuda(driver.driver_floor)),
    Check(id="nvml-agrees", title="NVML and CUDA agree", tiers=WITH_GPU, examine=nvml.nvml_agrees),
    Check(id="gpu-memory-free", title="free GPU memory", tiers=WITH_GPU, examine=nvml.gpu_memory_free),
    Check(
        id="cublas-result-right",
        title="cuBLAS without TensorFlow",
        tiers=WITH_GPU,
        examine=on_cuda(hardware.cublas_result_right),
    ),
    Check(
        id="cudnn-result-right",
        title="cuDNN without TensorFlow",
        tiers=WITH_GPU,
        examine=on_cuda(hardware.cudnn_result_right),
    ),
    Check(
        id="gpu-visible-to-tensorflow",
        title="TensorFlow sees the GPUs",
        tiers=WITH_GPU,
        examine=on_cuda(gpu.gpu_visible_to_tensorflow),
    ),
    Check(
        id="gpu-architecture-covered",
        title="code for the GPUs",
        tiers=WITH_GPU,
        examine=on_cuda(gpu.gpu_architecture_covered),
    ),
    Check(id="gpu-matmul-on-gpu", title="matrix product on GPU", tiers=WITH_GPU, examine=gpu.gpu_matmul_on_gpu),
    Check(
        id="gpu-convolution-on-gpu",
        title="convolution on GPU",
        tiers=WITH_GPU,
        examine=gpu.gpu_convolution_on_gpu,
    ),
    Check(id="gpu-first-kernel", title="first kernel", tiers=WITH_GPU, examine=gpu_work.gpu_first_kernel),
    Check(
        id="gpu-convolution-gradient-on-gpu",
        title="convolution gradient on GPU",
        tiers=WITH_GPU,
        examine=gpu_numbers.gpu_convolution_gradient_on_gpu,
    ),
    Check(
        id="gpu-batch-norm-on-gpu",
        title="batch normalisation on GPU",
        tiers=WITH_GPU,
        examine=gpu_numbers.gpu_batch_norm_on_gpu,
    ),
    Check(id="gpu-rnn-on-gpu", title="LSTM on GPU", tiers=WITH_GPU, examine=gpu_numbers.gpu_rnn_on_gpu),
    Check(
        id="gpu-training-loss-falls",
        title="training on GPU",
        tiers=WITH_GPU,
        examine=gpu_work.gpu_training_loss_falls,
    ),
    Check(
        id="gpu-function-equals-eager",
        title="functions on GPU",
        tiers=WITH_GPU,
        examine=gpu_numbers.gpu_function_equals_eager,
        applies=has_functions,
    ),
    Check(id="gpu-xla", title="XLA on GPU", tiers=WITH_GPU, examine=gpu_numbers.gpu_xla, applies=has_xla),
    Check(
        id="gpu-mixed-precision",
        title="mixed precision on GPU",
        tiers=WITH_GPU,
        examine=gpu_numbers.gpu_mixed_precision,
    ),
    Check(id="gpu-latency", title="latency of a kernel", tiers=WITH_GPU, examine=gpu_work.gpu_latency),
    Check(id="gpu-throughput", title="rate of matrix products", tiers=WITH_GPU, examine=gpu_work.gpu_throughput),
    Check(
        id="gpu-all-reduce",
        title="GPUs together",
        tiers=WITH_GPU,
        examine=gpu_work.gpu_all_reduce,
        beside=gpu_work.one_gpu,
    ),
    Check(id="gpu-memory-policy", title="GPU memory", tiers=WITH_GPU, examine=gpu_memory.gpu_memory_policy),
    Check(
        id="gpu-memory-recovers",
        title="GPU memory after a refusal",
        tiers=WITH_GPU,
        examine=gpu_memory.gpu_memory_recovers,
    ),
)


def bare_checks() -> tuple[Check, ...]:
    """Return the checks of the CPU tier that apply outside of an image, where no CUDA libraries are installed."""
    return tuple(check for check in checks_for(Tier.CPU) if check.applies is always)


def checks_for(tier: Tier) -> tuple[Check, ...]:
    """Return the checks of a tier, in the order of the table; none for `static`, where nothing is run."""
    return tuple(check for check in CHECKS if tier in check.tiers)
