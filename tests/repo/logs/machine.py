"""What the machine does to a job: processor, memory, loader, small file systems."""

from __future__ import annotations

from pathlib import Path

from tests.repo.logs.bench import Bench
from tests.repo.logs.no_gpu import TRAIN
from tests.repo.logs.recipes import log

_IMPORT = "import tensorflow as tf\nprint(tf.__version__)\n"
_OLD_CPU = "an emulated processor: qemu-user -cpu Nehalem, which has no AVX"


def _on_old_processor(bench: Bench) -> None:
    bench.write("main.py", _IMPORT)
    interpreter = (bench.folder / "venv/bin/python").resolve()
    site = next(bench.folder.glob("venv/lib/python*/site-packages"))
    # NumPy's OpenBLAS takes the emulated processor for another one and would die first.
    bench.run(f"qemu-x86_64 -cpu Nehalem {interpreter} main.py", PYTHONPATH=str(site), OPENBLAS_CORETYPE="Nehalem")


_NO_AVX = "TensorFlow is compiled for processors with AVX from 1.6 on, and this one has none."
_OTHER_CPU = "a machine (or virtual machine type) with AVX; TensorFlow 1.5.0 is the last package that runs without"


@log("cpu-no-avx", "tf-1.15", tf="1.15.5", cause=_NO_AVX, fix=_OTHER_CPU, arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", "protobuf<3.21", "numpy<1.20")
    _on_old_processor(bench)


@log("cpu-no-avx", "tf-2.4", tf="2.4.4", cause=_NO_AVX, fix=_OTHER_CPU, arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    _on_old_processor(bench)


@log("cpu-no-avx", "tf-2.15", tf="2.15.1", cause=_NO_AVX, fix=_OTHER_CPU, arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    _on_old_processor(bench)


@log("host-oom", "numpy", tf="2.15.1", cause="The whole data set is asked for at once in the memory of the host, which has less.",
     fix="read it in pieces: tf.data, or np.load(…, mmap_mode='r')")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("load.py", "import numpy as np\nimport tensorflow as tf\n\nimages = np.ones((500000, 512, 512, 3), dtype='float32')\n"
                 "data = tf.data.Dataset.from_tensor_slices(images)\n", prompt=True)  # fmt: skip


@log("host-oom", "cpu-tensor", tf="2.20.0", cause="A tensor in the memory of the host (device CPU) is larger than that memory.",
     fix="a smaller batch, or float16; it is not the memory of a GPU")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script(
        "augment.py",
        "import tensorflow as tf\n\nbatch = tf.ones([65536, 1024, 1024, 3])\nprint(tf.image.flip_left_right(batch).shape)\n",
    )


@log("host-oom", "limit", tf="2.4.4", cause="The shell limits the memory of the process (ulimit -v 3000000, 3 GB), too little for this job.",
     fix="ulimit -v unlimited, or ask the batch system for more memory")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.write("train.py", TRAIN.replace("np.random.rand(256, 20)", "np.random.rand(12000000, 20)"))
    bench.run("ulimit -v 3000000; python train.py")


_CGROUP = """\
cgroup=/sys/fs/cgroup/memory/job_4711
mkdir $cgroup && echo 800M > $cgroup/memory.limit_in_bytes
bash -c "echo \\$\\$ > $cgroup/cgroup.procs; python train.py; echo exit status \\$?"
dmesg | tail -400 | grep -E 'invoked oom-killer|oom-kill:|Memory cgroup out of memory' | tail -3
sleep 1; rmdir $cgroup
"""


@log("host-oom", "kernel-log", tf="2.15.1", cause="The job's control group may use 800 MB; the kernel killed the process.",
     fix="ask for more memory (Slurm: --mem=8G), or read the data in pieces")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.write("train.py", "import numpy as np\nimport tensorflow as tf\n\nprint('TensorFlow', tf.__version__, flush=True)\n"
                "parts = [np.ones((1000, 224, 224, 3), 'float32') for _ in range(8)]\n")  # fmt: skip
    bench.write("job.sh", _CGROUP)
    bench.run("bash job.sh")


@log("shm-or-nccl", "bus-error", tf="2.15.1", cause="/dev/shm has 1 MB here (64 MB in a container by default); a shared array is larger.",
     fix="docker run --shm-size=8g …, or --ipc=host")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.write("loader.py", _SHARED)
    bench.write("job.sh", "mount -t tmpfs -o size=1m tmpfs /dev/shm\ndf -h /dev/shm\npython loader.py\n")
    bench.run("unshare -m bash job.sh")


@log("shm-or-nccl", "no-space", tf="2.4.4", cause="/dev/shm is full (8 kB left), so that Python cannot make a semaphore for its workers.",
     fix="docker run --shm-size=8g …, and rm /dev/shm/… of dead jobs")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.write("train.py", _WORKERS)
    bench.write(
        "job.sh",
        "mount -t tmpfs -o size=8k tmpfs /dev/shm\nhead -c 8192 /dev/zero > /dev/shm/left-by-another-job\npython train.py\n",
    )
    bench.run("unshare -m bash job.sh")


_SHARED = """\
from multiprocessing import shared_memory

import numpy as np
import tensorflow as tf

block = shared_memory.SharedMemory(create=True, size=64 << 20)
images = np.ndarray((64, 512, 512), "float32", buffer=block.buf)
images[:] = 1.0
print(tf.reduce_sum(tf.constant(images)))
"""
_WORKERS = """\
from multiprocessing import Pool

import numpy as np
import tensorflow as tf


def read(index):
    return np.full((4, 3), index)


with Pool(2) as pool:
    batches = pool.map(read, range(8))
print(tf.reduce_sum(tf.constant(batches)))
"""


@log("static-tls", "libgomp", tf="2.4.4", scikit_learn="0.24.2",
     cause="A library with thread-local variables (libgomp) is loaded late, and the loader's room for such variables is used up.",
     fix="import sklearn before tensorflow, or LD_PRELOAD of the library; GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096",
     arranged="the room was made small by GLIBC_TUNABLES")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21", "scikit-learn==0.24.2")
    text = "import tensorflow as tf\nfrom sklearn.ensemble import RandomForestClassifier\n\nprint(tf.__version__, RandomForestClassifier)\n"
    bench.script("train.py", text, GLIBC_TUNABLES="glibc.rtld.optional_static_tls=0:glibc.rtld.nns=1")


@log("glibc-too-old", "wheel-tag", tf="2.21.0",
     cause="TensorFlow 2.21 asks for glibc 2.27 (manylinux_2_27); the target system has 2.24.",
     fix="a newer system or container (Debian 10, Ubuntu 18.04 or later), or tensorflow<2.21")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12")
    bench.run("uv pip install --python-platform x86_64-manylinux_2_24 tensorflow==2.21.0", prompt=True, host_home=True)


@log("cudnn-missing", "nvrtc-of-cudnn-8.6", tf="2.11.1", cuda="11.8", cudnn="8.6.0.163",
     cause="cuDNN 8.6 opens libnvrtc.so by itself and ends the process when it is not there; the NVRTC wheel has only libnvrtc.so.11.2.",
     fix="ln -s libnvrtc.so.11.2 libnvrtc.so in the folder of NVRTC, and that folder into LD_LIBRARY_PATH")  # fmt: skip
def _(bench: Bench) -> None:
    site = bench.install("3.10", "nvidia-cudnn-cu11==8.6.0.163", "nvidia-cublas-cu11==11.11.3.6")
    bench.write("start.py", _CUDNN)
    folders = ":".join(str(each) for each in sorted(Path(site).glob("nvidia/*/lib")))
    bench.run("python start.py", prompt=True, LD_LIBRARY_PATH=folders)


_CUDNN = """\
import ctypes

cudnn = ctypes.CDLL("libcudnn.so.8")
print("cuDNN", cudnn.cudnnGetVersion())
descriptor = ctypes.c_void_p()
print("status", cudnn.cudnnCreateConvolutionDescriptor(ctypes.byref(descriptor)))
"""
