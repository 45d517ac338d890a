"""TensorFlow with GPU support on a machine without a GPU, and what is harmless there."""

from __future__ import annotations

import shutil

from tests.e2e.debian_drivers import driver_libraries
from tests.repo.logs.bench import Bench
from tests.repo.logs.recipes import log

DEMAND_1 = """\
import tensorflow as tf

with tf.device("/gpu:0"):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    product = tf.matmul(a, a)
with tf.Session() as session:
    print(session.run(product))
"""
DEMAND_2 = """\
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
print("GPUs:", gpus)
assert gpus, "this job needs a GPU"
"""
TRAIN = """\
import numpy as np
import tensorflow as tf

x, y = np.random.rand(256, 20).astype("float32"), np.random.randint(0, 3, 256)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu", input_shape=(20,)),
    tf.keras.layers.Dense(3, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=2, verbose=2)
print("done, saved to model.h5")
model.save("model.h5")
"""
_NO_DRIVER = "This machine has no NVIDIA driver, and the job demands a GPU."
_PASS = "install the NVIDIA driver; in a container start with --gpus all"
_CPU_FINE = "TensorFlow looks for a GPU, finds none and works on the CPU; the training went through to its end."
_SILENT = "nothing; a CPU package or CUDA_VISIBLE_DEVICES=-1 TF_CPP_MIN_LOG_LEVEL=1 makes it quiet"
_PROTOBUF = "protobuf<3.21"


@log("cuda-soname-missing", "tf-1.13", tf="1.13.2", cuda="10.0",
     cause="tensorflow-gpu 1.13 is linked with CUDA 10.0, and none of its libraries is here.",
     fix="install CUDA 10.0 and cuDNN 7, or use the environment tf-1.13-cuda10.0")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.13.2", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1, prompt=True)


@log("cuda-soname-missing", "tf-1.4", tf="1.4.1", cuda="8.0",
     cause="tensorflow-gpu 1.4 is linked with CUDA 8.0 and cuDNN 6, and none of their libraries is here.",
     fix="install CUDA 8.0 and cuDNN 6 (not newer ones), or use the environment tf-1.4-cuda8.0")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow-gpu==1.4.1", "numpy<1.17")
    bench.script("train.py", DEMAND_1)


@log("no-driver-or-gpu-not-passed", "tf-1.15", tf="1.15.5", cuda="10.0", cause=_NO_DRIVER, fix=_PASS)
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1)


@log("no-driver-or-gpu-not-passed", "tf-2.4", tf="2.4.4", cuda="11.0", cause=_NO_DRIVER, fix=_PASS)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    bench.script("train.py", DEMAND_2, prompt=True)


@log("no-driver-or-gpu-not-passed", "tf-2.15", tf="2.15.1", cuda="12.2", cause=_NO_DRIVER, fix=_PASS)
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.script("train.py", DEMAND_2)


@log("no-driver-or-gpu-not-passed", "tf-2.20", tf="2.20.0", cuda="12.5", cause=_NO_DRIVER, fix=_PASS)
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow==2.20.0")
    bench.script("train.py", DEMAND_2, prompt=True)


def driver(bench: Bench, suite: str, package: str = "libcuda1") -> str:
    """Folder of a real driver library from Debian, as `LD_LIBRARY_PATH`."""
    found = driver_libraries(bench.folder / "debian", {suite: package})[suite]
    target = bench.folder / "driver"
    shutil.copytree(found, target, symlinks=True)  # TensorFlow reads the release from the name behind the link
    bench.typed.append(f"apt-get download {package}/{suite}; dpkg-deb -x {package}_*.deb driver")
    return str(target)


@log("no-driver-or-gpu-not-passed", "library-without-gpu", tf="2.15.1", cuda="12.2", driver="535 (library only)",
     cause="The driver's library is here, but no GPU and no kernel module: cuInit says that there is no device.",
     fix=_PASS)  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=driver(bench, "bookworm"))


@log("no-driver-or-gpu-not-passed", "tf-1.15-library-without-gpu", tf="1.15.5", cuda="10.0", driver="470.256.02 (library only)",
     cause="The driver's library is here, but no GPU and no kernel module: cuInit says that there is no device.",
     fix=_PASS)  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1, LD_LIBRARY_PATH=driver(bench, "bullseye"))


@log("visible-devices-mistake", "minus-one", tf="2.20.0", cuda="12.5", driver="535 (library only)",
     cause="CUDA_VISIBLE_DEVICES=-1 hides every GPU, and the job demands one.", fix="unset CUDA_VISIBLE_DEVICES")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow[and-cuda]==2.20.0")
    bench.write("train.py", DEMAND_2)
    bench.write("job.sh", 'echo "host $(uname -s), CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"\npython train.py\n')
    bench.run("bash job.sh", LD_LIBRARY_PATH=driver(bench, "bookworm"), CUDA_VISIBLE_DEVICES="-1")


@log("visible-devices-mistake", "set-inside", tf="2.15.1", cuda="12.2", driver="535 (library only)",
     cause="The script itself sets CUDA_VISIBLE_DEVICES to an empty text, which hides every GPU, and then demands one.",
     fix="remove the line, or CUDA_VISIBLE_DEVICES=0")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    hidden = "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n" + DEMAND_2
    path = driver(bench, "bookworm")
    bench.write("train.py", hidden)
    bench.run("head -4 train.py; python train.py", prompt=True, LD_LIBRARY_PATH=path)


@log("gpu-ignored", "cpu-package", tf="2.15.1",
     cause="tensorflow-cpu has no GPU code at all; the script places work on /gpu:0.",
     fix="pip uninstall -y tensorflow-cpu; pip install 'tensorflow[and-cuda]==2.15.1', or the environment tf-2.15-cuda12.2")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    text = "import tensorflow as tf\nprint('built with CUDA:', tf.test.is_built_with_cuda())\n"
    bench.script(
        "train.py", text + "with tf.device('/gpu:0'):\n    print(tf.random.normal([2, 2]) @ tf.ones([2, 2]))\n"
    )


@log("gpu-ignored", "cpu-package-1.15", tf="1.15.5",
     cause="The package tensorflow 1.15 has no GPU code (tensorflow-gpu has); the script places work on /gpu:0.",
     fix="pip uninstall -y tensorflow; pip install tensorflow-gpu==1.15.5, or the environment tf-1.15-cuda10.0")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1)


@log("harmless-cpu-only", "tf-1.15", tf="1.15.5", cuda="10.0", cause=_CPU_FINE, fix=_SILENT)
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "h5py<3", "numpy<1.20")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "tf-2.4", tf="2.4.4", cuda="11.0", cause=_CPU_FINE, fix=_SILENT)
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    bench.script("train.py", TRAIN, prompt=True)


@log("harmless-cpu-only", "tf-2.15", tf="2.15.1", cuda="12.2", cause=_CPU_FINE, fix=_SILENT)
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow==2.15.1")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "tf-2.20", tf="2.20.0", cuda="12.5", cause=_CPU_FINE, fix=_SILENT)
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow==2.20.0")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "hidden-on-purpose", tf="2.15.1", cuda="12.2", driver="535 (library only)",
     cause="The script hides the GPUs on purpose; cuInit finds none, and the training runs on the CPU to its end.", fix=_SILENT)  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow==2.15.1")
    text = "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'  # evaluation runs on the CPU\n" + TRAIN
    bench.script("evaluate.py", text, LD_LIBRARY_PATH=driver(bench, "bookworm"))


@log("harmless-noise", "tf-1.15-cpu", tf="1.15.5",
     cause="FutureWarning of NumPy and deprecation notes of TensorFlow 1.15; the training went through to its end.",
     fix="nothing; numpy<1.17 silences the first, tf.get_logger().setLevel('ERROR') the others")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", _PROTOBUF, "h5py<3", "numpy<1.20")
    bench.script("train.py", TRAIN, prompt=True)


@log("harmless-noise", "tf-2.4-cpu", tf="2.4.4",
     cause="Notes on CPU instructions, MLIR passes and the HDF5 format; the training went through to its end.",
     fix="nothing; TF_CPP_MIN_LOG_LEVEL=1 silences the notes")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", _PROTOBUF)
    bench.script("train.py", TRAIN)


@log("harmless-noise", "tf-2.20-cpu", tf="2.20.0",
     cause="Notes on CPU instructions and oneDNN and a warning on the HDF5 format; the training went through to its end.",
     fix="nothing; TF_CPP_MIN_LOG_LEVEL=1 silences the notes")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script("train.py", TRAIN)


@log("harmless-noise", "data-ends-early", tf="2.15.1",
     cause="'OUT_OF_RANGE: End of sequence' and 'Your input ran out of data' tell that the data was shorter than asked for; the run ended well.",
     fix="nothing; dataset.repeat() or the right steps_per_epoch silences it")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    text = TRAIN.replace("model.fit(x, y, epochs=2, verbose=2)", _SHORT)
    bench.script("train.py", text)


@log("harmless-noise", "retracing", tf="2.15.1",
     cause="TensorFlow warns that a function is traced again and again, which costs time; the predictions are right.",
     fix="give predict arrays of one shape, or call the model itself")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("predict.py", _RETRACE)


@log("harmless-noise", "error-that-was-caught", tf="2.20.0",
     cause="The job tries a batch that is far too large, catches the error, halves the batch, and ends well.",
     fix="nothing")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script("tune.py", _CAUGHT)


_SHORT = """\
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model.fit(data, epochs=2, steps_per_epoch=6, verbose=2)"""
_RETRACE = """\
import numpy as np
import tensorflow as tf

for size in range(6, 12):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(size,))])
    print(size, model.predict(np.ones((4, size)), verbose=0).shape)
print("all shapes predicted")
"""
_CAUGHT = """\
import tensorflow as tf

batch = 1 << 20
while True:
    try:
        images = tf.zeros([batch, 512, 512, 3])
        break
    except tf.errors.ResourceExhaustedError as error:
        print("batch", batch, "does not fit:", error.message.split("[Op")[0])
        batch //= 16
model = tf.keras.Sequential([tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(images[:16], tf.zeros([16, 1]), epochs=1, verbose=2)
print("finished with batch", min(batch, 16))
"""
