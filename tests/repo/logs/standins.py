"""Failures that need a GPU to be seen: a stand-in for the driver's library says that there is one.

The stand-in (`standin_driver.c`) only answers; every line of the log is printed by TensorFlow or CUDA's own libraries.
"""

from __future__ import annotations

from pathlib import Path

from tests.repo.logs.bench import Bench
from tests.repo.logs.no_gpu import DEMAND_2, driver
from tests.repo.logs.recipes import log

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


@log("gpu-arch-unsupported", "gtx-680-tf-1.15", tf="1.15.5", cuda="10.0", gpu="GeForce GTX 680 (3.0)", driver="CUDA 10.0",
     cause="TensorFlow 1.15 needs compute capability 3.5 or more here; the GTX 680 has 3.0.",
     fix="a GPU of Maxwell or newer, or a build from source for 3.0",
     arranged=_STANDS.format("for a GeForce GTX 680"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    stand = _standin(bench, NAME='"GeForce GTX 680"', MAJOR=3, MINOR=0, VERSION=10000)
    bench.script(
        "train.py",
        "import tensorflow as tf\n\nprint('GPU:', tf.test.gpu_device_name())\nassert tf.test.is_gpu_available()\n",
        LD_LIBRARY_PATH=stand,
    )


@log("cuda-soname-missing", "one-of-many-tf-2.15", tf="2.15.1", cuda="12.2", driver="CUDA 12.2", gpu="Tesla V100",
     cause="All CUDA libraries but libcufft.so.11 are here; TensorFlow then uses no GPU at all.",
     fix="pip install nvidia-cufft-cu12, or the environment tf-2.15-cuda12.2",
     arranged=_STANDS.format("for a Tesla V100"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.run("uv pip uninstall -q nvidia-cufft-cu12 --python venv/bin/python")
    stand = _standin(bench, NAME='"Tesla V100-SXM2-16GB"', MAJOR=7, MINOR=0, MEMORY="16945512448ul", VERSION=12020)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cuda-soname-missing", "cublas-tf-2.4", tf="2.4.4", cuda="11.0", driver="CUDA 11.4", gpu="Tesla K80",
     cause="libcublas.so.11 and its neighbours are not where the loader looks; only the runtime of CUDA 11 is.",
     fix="LD_LIBRARY_PATH=/usr/local/cuda-11.0/lib64, or the environment tf-2.4-cuda11.0",
     arranged=_STANDS.format("for a Tesla K80"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF, "nvidia-cuda-runtime-cu11")
    stand = _standin(bench)
    bench.script("train.py", DEMAND_2, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cudnn-missing", "tf-2.10", tf="2.10.1", cuda="11", driver="CUDA 11.4", gpu="Tesla K80",
     cause="The libraries of CUDA 11 are here, libcudnn.so.8 is not; TensorFlow then uses no GPU at all.",
     fix="pip install 'nvidia-cudnn-cu11>=8.1,<8.7' and its folder into LD_LIBRARY_PATH, or the environment tf-2.10-cuda11.2",
     arranged=_STANDS.format("for a Tesla K80"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow==2.10.1", "numpy<2", *_CUDA_11[:-1])
    stand = _standin(bench)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("cuda-soname-missing", "cusolver-tf-2.4", tf="2.4.4", cuda="11.8 (wheels)", driver="CUDA 11.8", gpu="Tesla K80",
     cause="TensorFlow 2.4 opens libcusolver.so.10, the name of CUDA 11.0; CUDA 11.1 and later have libcusolver.so.11.",
     fix="ln -s libcusolver.so.11 libcusolver.so.10 in the folder of cuSOLVER, or the environment tf-2.4-cuda11.0",
     arranged=_STANDS.format("for a Tesla K80"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF, *_CUDA_11)
    stand = _standin(bench, VERSION=11080)
    bench.script("train.py", DEMAND_2, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("driver-too-old", "tf-2.10-driver-10.1", tf="2.10.1", cuda="11.2", driver="418 (CUDA 10.1)", gpu="Tesla K80",
     cause="The driver supports CUDA 10.1; the runtime of CUDA 11 refuses it.",
     fix="driver 450.80.02 or newer, or the environment tf-2.3-cuda10.1",
     arranged=_STANDS.format("as a driver for CUDA 10.1"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow==2.10.1", "numpy<2", *_CUDA_11)
    stand = _standin(bench, VERSION=10010)
    bench.script("train.py", _MULTIPLY, prompt=True, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("driver-too-old", "tf-2.15-driver-11.4", tf="2.15.1", cuda="12.2", driver="470 (CUDA 11.4)", gpu="Tesla V100",
     cause="The driver supports CUDA 11.4; the runtime of CUDA 12.2 refuses it.",
     fix="driver 525.60.13 or newer, or the environment tf-2.14-cuda11.8",
     arranged=_STANDS.format("as a driver for CUDA 11.4"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    stand = _standin(bench, NAME='"Tesla V100-SXM2-16GB"', MAJOR=7, MINOR=0, MEMORY="16945512448ul", VERSION=11040)
    bench.script("train.py", _MULTIPLY, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))  # fmt: skip


@log("driver-too-old", "cupy-driver-470", cuda="12.9", driver="470.256.02 (library only)",
     cause="The real library of driver 470.256.02 supports CUDA 11.4; the runtime of CUDA 12.9 refuses it.",
     fix="driver 525.60.13 or newer, or packages for CUDA 11")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "cupy-cuda12x==13.6.0", "nvidia-cuda-runtime-cu12==12.9.79", "numpy<2")
    path = _path(driver(bench, "bullseye"), *_wheels(bench))
    bench.script("check.py", "import cupy\n\nprint(cupy.cuda.runtime.getDeviceCount(), 'GPUs')\n", LD_LIBRARY_PATH=path)


@log("cuda-unknown-error", "uvm-tf-2.4", tf="2.4.4", cuda="11.0", driver="CUDA 11.4", gpu="Tesla K80",
     cause="cuInit answers 999 although library and kernel module are of one release: mostly nvidia-uvm is not loaded, or lost its state.",
     fix="sudo modprobe -r nvidia_uvm; sudo modprobe nvidia_uvm (or nvidia-modprobe -u -c=0), else reboot",
     arranged=_STANDS.format("999 to cuInit, and /proc/driver/nvidia/version is written by hand"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    stand = Path(_standin(bench, INIT=999))
    (stand / "libcuda.so.1").rename(stand / "libcuda.so.470.256.02")
    (stand / "libcuda.so.1").symlink_to("libcuda.so.470.256.02")
    _with_kernel_module(bench, "470.256.02", str(stand))


@log("driver-library-mismatch", "tf-2.4", tf="2.4.4", cuda="11.0", driver="library 470.256.02, kernel module 470.57.02",
     cause="The driver's packages were upgraded, the kernel still runs the old module: 470.57.02 against library 470.256.02.",
     fix="reboot, or unload the modules nvidia_uvm, nvidia_drm, nvidia_modeset, nvidia and load them again",
     arranged="the library is the real one of Debian, without a GPU; /proc/driver/nvidia/version is written by hand")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    _with_kernel_module(bench, "470.57.02", driver(bench, "bullseye"))


@log("driver-library-mismatch", "tf-2.15", tf="2.15.1", cuda="12.2", driver="library 535, kernel module 525.85.12",
     cause="The driver's packages were upgraded, the kernel still runs the old module: 525.85.12 against library 535.",
     fix="reboot, or unload the modules nvidia_uvm, nvidia_drm, nvidia_modeset, nvidia and load them again",
     arranged="the library is the real one of Debian, without a GPU; /proc/driver/nvidia/version is written by hand")  # fmt: skip
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
mkdir dev && cp -a /dev/null /dev/zero /dev/urandom /dev/random /dev/fd /dev/stdout /dev/stderr dev/ && touch dev/nvidia0
mount --bind dev /dev
python train.py
"""


@log("ptx-jit", "rtx-5090-tf-2.15", tf="2.15.1", cuda="12.2", driver="CUDA 12.8", gpu="GeForce RTX 5090 (12.0)",
     cause="TensorFlow 2.15 has machine code up to 9.0; for a GPU of 12.0 every kernel is compiled from PTX first.",
     fix="NVIDIA's own builds for Blackwell; CUDA_CACHE_MAXSIZE=4294967296 keeps what was compiled",
     arranged=_STANDS.format("for a GeForce RTX 5090"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    stand = _standin(bench, NAME='"NVIDIA GeForce RTX 5090"', MAJOR=12, MINOR=0, MEMORY="33670758400ul", VERSION=12080)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))


@log("ptx-jit", "rtx-5090-tf-2.20", tf="2.20.0", cuda="12.5", driver="CUDA 12.8", gpu="GeForce RTX 5090 (12.0)",
     cause="TensorFlow 2.20 has machine code up to 9.0; for a GPU of 12.0 every kernel is compiled from PTX first.",
     fix="NVIDIA's own builds for Blackwell; CUDA_CACHE_MAXSIZE=4294967296 keeps what was compiled",
     arranged=_STANDS.format("for a GeForce RTX 5090"))  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow[and-cuda]==2.20.0")
    stand = _standin(bench, NAME='"NVIDIA GeForce RTX 5090"', MAJOR=12, MINOR=0, MEMORY="33670758400ul", VERSION=12080)
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=_path(stand, *_wheels(bench)))
