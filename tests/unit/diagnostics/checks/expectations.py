"""Expectations of five environments, as compact as the cases need them."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import Version

from envbuilder.catalog.cuda import CudaNeed, CudnnNeed, CudnnRule, KernelFamily, Linkage
from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.catalog.verdicts import stack_of
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog, real_row


def releases(*texts: str) -> tuple[Release, ...]:
    return tuple(Release(text) for text in texts)


def family(
    name: str, machine: tuple[str, ...], ptx: tuple[str, ...], *, forward: bool = True, isa: str = ""
) -> KernelFamily:
    version = Release(isa) if isa else None
    return KernelFamily(name=name, machine=releases(*machine), ptx=releases(*ptx), forward=forward, isa=version)


def side(
    environment: str, need: CudaNeed, *, release: Release, cudnn_release: Release, sonames: tuple[str, ...]
) -> CudaExpectation:
    """The CUDA side of an image, with the product's own tables of drivers and GPUs."""
    whole = replace(need, sonames=sonames)
    stack = replace(stack_of(real_row(environment), None), need=whole, base="b", cuda=release, cudnn=cudnn_release)
    return CudaExpectation(
        need=whole,
        release=release,
        cudnn_release=cudnn_release,
        sonames=sonames,
        stack=stack,
        tables=real_catalog().cuda,
    )


TF_2_20 = Expectation(
    environment="tf-2.20-cuda12.5",
    python=Release("3.11"),
    framework="tensorflow",
    framework_version=Version("2.20.0"),
    cuda=side(
        "tf-2.20-cuda12.5",
        CudaNeed(
            compiled=Release("12.5.1"),
            linkage=Linkage.DLOPEN,
            sonames=(),
            optional=("libcupti.so.12",),
            cudnn=CudnnNeed(compiled=Release("9.3.0"), rule=CudnnRule.SAME_MAJOR_AT_LEAST),
            code=(
                family("cuda", ("6.0", "7.0", "8.0", "8.9", "9.0"), ("9.0",)),
                family("mlir", ("6.0", "7.0", "8.0", "8.9"), ("9.0",), forward=False, isa="8.5"),
            ),
        ),
        release=Release("12.9"),
        cudnn_release=Release("9.28.0"),
        sonames=(
            "libcublas.so.12",
            "libcublasLt.so.12",
            "libcudart.so.12",
            "libcudnn.so.9",
            "libcufft.so.11",
            "libcusolver.so.11",
            "libcusparse.so.12",
            "libnccl.so.2",
        ),
    ),
    distributions=(("keras", "3.15.1"), ("protobuf", "7.36.2"), ("tensorflow", "2.20.0"), ("wrapt", "2.5.2")),
    glibc=Release("2.17"),
    needs_avx=True,
    deviations=("CUDA libraries are 12.9 instead of 12.5",),
)

TF_2_15_CPU = Expectation(
    environment="tf-2.15-cpu",
    python=Release("3.11"),
    framework="tensorflow-cpu",
    framework_version=Version("2.15.1"),
    cuda=None,
    distributions=(("tensorflow-cpu", "2.15.1"),),
    glibc=Release("2.17"),
    needs_avx=True,
    deviations=(),
)

TF_2_4 = Expectation(
    environment="tf-2.4-cuda11.0",
    python=Release("3.8.18"),
    framework="tensorflow-gpu",
    framework_version=Version("2.4.4"),
    cuda=side(
        "tf-2.4-cuda11.0",
        CudaNeed(
            compiled=Release("11.0"),
            linkage=Linkage.DLOPEN,
            sonames=(),
            optional=("libcupti.so.11.0",),
            cudnn=CudnnNeed(compiled=Release("8.0.4"), rule=CudnnRule.SAME_MAJOR_AT_LEAST),
            code=(family("cuda", ("3.5", "5.0", "6.0", "7.0", "7.5", "8.0"), ("8.0",)),),
        ),
        release=Release("11.0.3"),
        cudnn_release=Release("8.0.5"),
        sonames=(
            "libcublas.so.11",
            "libcublasLt.so.11",
            "libcudart.so.11.0",
            "libcudnn.so.8",
            "libcufft.so.10",
            "libcurand.so.10",
            "libcusolver.so.10",
            "libcusparse.so.11",
        ),
    ),
    distributions=(("tensorflow-gpu", "2.4.4"),),
    glibc=Release("2.12"),
    needs_avx=True,
    deviations=(),
)

TF_2_4_CPU = Expectation(
    environment="tf-2.4-cpu",
    python=Release("3.8"),
    framework="tensorflow-cpu",
    framework_version=Version("2.4.4"),
    cuda=None,
    distributions=(("tensorflow-cpu", "2.4.4"),),
    glibc=Release("2.12"),
    needs_avx=True,
    deviations=(),
)

TF_1_4 = Expectation(
    environment="tf-1.4-cuda8.0",
    python=Release("3.6.15"),
    framework="tensorflow-gpu",
    framework_version=Version("1.4.1"),
    cuda=side(
        "tf-1.4-cuda8.0",
        CudaNeed(
            compiled=Release("8.0"),
            linkage=Linkage.NEEDED,
            sonames=(),
            optional=(),
            cudnn=CudnnNeed(compiled=Release("6.0.21"), rule=CudnnRule.EXACT_MINOR),
            code=(family("cuda", ("3.0", "3.5", "6.1"), ("6.1",), isa="5.0"),),
        ),
        release=Release("8.0.61"),
        cudnn_release=Release("6.0.21"),
        sonames=("libcublas.so.8.0", "libcudart.so.8.0", "libcudnn.so.6"),
    ),
    distributions=(("tensorflow-gpu", "1.4.1"),),
    glibc=Release("2.17"),
    needs_avx=False,
    deviations=(),
)

TF_1_4_CPU = Expectation(
    environment="tf-1.4-cpu",
    python=Release("3.6"),
    framework="tensorflow",
    framework_version=Version("1.4.1"),
    cuda=None,
    distributions=(("tensorflow", "1.4.1"),),
    glibc=Release("2.17"),
    needs_avx=False,
    deviations=(),
)

EXPECTATIONS = {each.environment: each for each in (TF_2_20, TF_2_15_CPU, TF_2_4, TF_2_4_CPU, TF_1_4, TF_1_4_CPU)}
