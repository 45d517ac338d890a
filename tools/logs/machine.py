"""What the machine does to a job: processor, memory, loader, small file systems."""

from __future__ import annotations

from pathlib import Path

from tools.logs.bench import Bench
from tools.logs.no_gpu import TRAIN
from tools.logs.recipes import log

_IMPORT = "import tensorflow as tf\nprint(tf.__version__)\n"
_OLD_CPU = "an emulated processor: qemu-user -cpu Nehalem, which has no AVX"


def _on_old_processor(bench: Bench) -> None:
    bench.write("main.py", _IMPORT)
    interpreter = (bench.folder / "venv/bin/python").resolve()
    site = next(bench.folder.glob("venv/lib/python*/site-packages"))
    # NumPy's OpenBLAS takes the emulated processor for another one and would die first.
    bench.run(f"qemu-x86_64 -cpu Nehalem {interpreter} main.py", PYTHONPATH=str(site), OPENBLAS_CORETYPE="Nehalem")


@log("cpu-no-avx", "tf-1.15", arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", "protobuf<3.21", "numpy<1.20")
    _on_old_processor(bench)


@log("cpu-no-avx", "tf-2.4", arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    _on_old_processor(bench)


@log("cpu-no-avx", "tf-2.15", arranged=_OLD_CPU)
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    _on_old_processor(bench)


@log("host-oom", "numpy")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("load.py", "import numpy as np\nimport tensorflow as tf\n\n"
                            "images = np.ones((500000, 512, 512, 3), dtype='float32')\n"
                 "data = tf.data.Dataset.from_tensor_slices(images)\n", prompt=True)  # fmt: skip


@log("host-oom", "cpu-tensor")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script(
        "augment.py",
        "import tensorflow as tf\n\nbatch = tf.ones([65536, 1024, 1024, 3])\n"
        "print(tf.image.flip_left_right(batch).shape)\n",
    )


@log("host-oom", "limit")
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


@log("host-oom", "kernel-log")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.write("train.py", "import numpy as np\nimport tensorflow as tf\n\n"
                            "print('TensorFlow', tf.__version__, flush=True)\n"
                "parts = [np.ones((1000, 224, 224, 3), 'float32') for _ in range(8)]\n")  # fmt: skip
    bench.write("job.sh", _CGROUP)
    bench.run("bash job.sh")


@log("shm-or-nccl", "bus-error")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.write("loader.py", _SHARED)
    bench.write("job.sh", "mount -t tmpfs -o size=1m tmpfs /dev/shm\ndf -h /dev/shm\npython loader.py\n")
    bench.run("unshare -m bash job.sh")


@log("shm-or-nccl", "no-space")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.write("train.py", _WORKERS)
    bench.write(
        "job.sh",
        "mount -t tmpfs -o size=8k tmpfs /dev/shm\nhead -c 8192 /dev/zero > /dev/shm/left-by-another-job\n"
        "python train.py\n",
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


@log("static-tls", "own-operation")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    source = "static __thread char state[8192];\nchar *draw(void) { return state; }\n"
    bench.compiled("fast_ops.so", source, "-ftls-model=initial-exec")
    bench.script("train.py", "import tensorflow as tf\n\nops = tf.load_op_library('lib/fast_ops.so')\n")


@log("glibc-too-old", "wheel-tag")
def _(bench: Bench) -> None:
    bench.install("3.12")
    bench.run("uv pip install --python-platform x86_64-manylinux2014 tensorflow==2.21.0", prompt=True, host_home=True)


@log("cuda-soname-missing", "nvrtc-of-cudnn-8.6")
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
