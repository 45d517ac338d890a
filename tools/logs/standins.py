"""Failures that need a GPU to be seen: a stand-in for the driver's library says that there is one.

The stand-in (`standin_driver.c`) only answers; every line of the log is printed by TensorFlow or CUDA's own libraries.
"""

from __future__ import annotations

from pathlib import Path

from tools.logs.bench import Bench
from tools.logs.no_gpu import DEMAND_2, driver
from tools.logs.recipes import log

_SOURCE = Path(__file__).with_name("standin_driver.c")
_STANDS = "no GPU here: libcuda.so.1 is a stand-in that answers {}"
_PROTOBUF = "protobuf<3.21"
_CUDA_11 = (
    *(f"nvidia-{name}-cu11" for name in ("cuda-runtime", "cublas", "cufft", "curand", "cusolver", "cusparse")),
    "nvidia-cudnn-cu11==8.6.0.163",
)


def _standin(bench: Bench, **macros: str | int) -> str:
    """Folder of a stand-in for the driver's library."""
    gpu = {"NAME": '"Tesla K80"', "MAJOR": 3, "MINOR": 7, "MEMORY": "11996954624ul", "VERSION": 11040, **macros}
    options = [f"-D{name}={value}" for name, value in gpu.items()]
    folder = bench.compiled("libcuda.so.1", _SOURCE.read_text(encoding="utf-8"), *options, "-Wl,-soname,libcuda.so.1")
    bench.typed.append(f"cc -shared -fPIC {' '.join(options)} -o lib/libcuda.so.1 standin_driver.c")
    return str(folder)


def _wheels(bench: Bench) -> list[Path]:
    return sorted(bench.folder.glob("venv/lib/python*/site-packages/nvidia/*/lib"))


def _path(*folders: str | Path) -> str:
    return ":".join(map(str, folders))


_MULTIPLY = "import tensorflow as tf\n\nprint(tf.random.normal([4, 4]) @ tf.ones([4, 4]))\n"


@log("gpu-arch-unsupported", "gtx-680-tf-1.15", arranged=_STANDS.format("for a GeForce GTX 680"))
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    stand = _standin(bench, NAME='"GeForce GTX 680"', MAJOR=3, MINOR=0, VERSION=10000)
    bench.script(
        "train.py",
        "import tensorflow as tf\n\nprint('GPU:', tf.test.gpu_device_name())\nassert tf.test.is_gpu_available()\n",
        LD_LIBRARY_PATH=stand,
    )


@log("cuda-soname-missing", "one-of-many-tf-2.15", arranged=_STANDS.format("for a Tesla V100"))
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.run("uv pip uninstall -q nvidia-cufft-cu12 --python venv/bin/python")
    stand = _standin(bench, NAME='"Tesla V100-SXM2-16GB"', MAJOR=7, MINOR=0, MEMORY="16945512448ul", VERSION=12020)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cuda-soname-missing", "cublas-tf-2.4", arranged=_STANDS.format("for a Tesla K80"))
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF, "nvidia-cuda-runtime-cu11")
    stand = _standin(bench)
    bench.script("train.py", DEMAND_2, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cudnn-missing", "tf-2.10", arranged=_STANDS.format("for a Tesla K80"))
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow==2.10.1", "numpy<2", *_CUDA_11[:-1])
    stand = _standin(bench)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cuda-soname-missing", "cusolver-tf-2.4", arranged=_STANDS.format("for a Tesla K80"))
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF, *_CUDA_11)
    stand = _standin(bench, VERSION=11080)
    bench.script("train.py", DEMAND_2, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("driver-too-old", "tf-2.10-driver-10.1", arranged=_STANDS.format("as a driver for CUDA 10.1"))
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow==2.10.1", "numpy<2", *_CUDA_11)
    stand = _standin(bench, VERSION=10010)
    bench.script("train.py", _MULTIPLY, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("driver-too-old", "tf-2.15-driver-11.4", arranged=_STANDS.format("as a driver for CUDA 11.4"))
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    stand = _standin(bench, NAME='"Tesla V100-SXM2-16GB"', MAJOR=7, MINOR=0, MEMORY="16945512448ul", VERSION=11040)
    bench.script("train.py", _MULTIPLY, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))  # fmt: skip


@log("driver-too-old", "cupy-driver-470")
def _(bench: Bench) -> None:
    bench.install("3.11", "cupy-cuda12x==13.6.0", "nvidia-cuda-runtime-cu12==12.9.79", "numpy<2")
    path = _path(driver(bench, "bullseye"), *_wheels(bench))
    bench.script("check.py", "import cupy\n\nprint(cupy.cuda.runtime.getDeviceCount(), 'GPUs')\n", LD_LIBRARY_PATH=path)


@log(
    "cuda-unknown-error",
    "uvm-tf-2.4",
    arranged=_STANDS.format("999 to cuInit, and /proc/driver/nvidia/version is written by hand"),
)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    stand = Path(_standin(bench, INIT=999))
    (stand / "libcuda.so.1").rename(stand / "libcuda.so.470.256.02")
    (stand / "libcuda.so.1").symlink_to("libcuda.so.470.256.02")
    _with_kernel_module(bench, "470.256.02", str(stand))


@log(
    "driver-library-mismatch",
    "tf-2.4",
    arranged="the library is the real one of Debian, without a GPU; /proc/driver/nvidia/version is written by hand",
)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    _with_kernel_module(bench, "470.57.02", driver(bench, "bullseye"))


@log(
    "driver-library-mismatch",
    "tf-2.15",
    arranged="the library is the real one of Debian, without a GPU; /proc/driver/nvidia/version is written by hand",
)
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow==2.15.1")
    _with_kernel_module(bench, "525.85.12", driver(bench, "bookworm"))


def _with_kernel_module(bench: Bench, release: str, path: str) -> None:
    """Run the job where /proc names a release of the kernel module."""
    bench.write("version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {release}  Wed Jul 14 19:19:49 UTC 2021\n"
                "GCC version:  gcc version 10.2.1 20210110 (Debian 10.2.1-6)\n")  # fmt: skip
    bench.write("train.py", DEMAND_2)
    bench.write("job.sh", _KERNEL)
    bench.run("unshare -m bash job.sh", LD_LIBRARY_PATH=path)


_KERNEL = """\
mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia && cp version /proc/driver/nvidia/version
mkdir dev && cp -a /dev/null /dev/zero /dev/urandom /dev/random /dev/fd /dev/stdout /dev/stderr dev/
touch dev/nvidia0
mount --bind dev /dev
python train.py
"""


@log("ptx-jit", "rtx-5090-tf-2.15", arranged=_STANDS.format("for a GeForce RTX 5090"))
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    stand = _standin(bench, NAME='"NVIDIA GeForce RTX 5090"', MAJOR=12, MINOR=0, MEMORY="33670758400ul", VERSION=12080)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("ptx-jit", "rtx-5090-tf-2.20", arranged=_STANDS.format("for a GeForce RTX 5090"))
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow[and-cuda]==2.20.0")
    stand = _standin(bench, NAME='"NVIDIA GeForce RTX 5090"', MAJOR=12, MINOR=0, MEMORY="33670758400ul", VERSION=12080)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))
