"""TensorFlow with GPU support on a machine without a GPU, and what is harmless there."""

from __future__ import annotations

import shutil

from tests.e2e.debian_drivers import driver_libraries
from tools.logs.bench import Bench
from tools.logs.recipes import log

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
_PROTOBUF = "protobuf<3.21"


@log("cuda-soname-missing", "tf-1.13")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.13.2", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1, prompt=True)


@log("cuda-soname-missing", "tf-1.4")
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow-gpu==1.4.1", "numpy<1.17")
    bench.script("train.py", DEMAND_1)


@log("no-driver-or-gpu-not-passed", "tf-1.15")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1)


@log("no-driver-or-gpu-not-passed", "tf-2.4")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    bench.script("train.py", DEMAND_2, prompt=True)


@log("no-driver-or-gpu-not-passed", "tf-2.15")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.script("train.py", DEMAND_2)


@log("no-driver-or-gpu-not-passed", "tf-2.20")
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


@log("no-driver-or-gpu-not-passed", "library-without-gpu")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    bench.script("train.py", DEMAND_2, LD_LIBRARY_PATH=driver(bench, "bookworm"))


@log("no-driver-or-gpu-not-passed", "tf-1.15-library-without-gpu")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1, LD_LIBRARY_PATH=driver(bench, "bullseye"))


@log("visible-devices-mistake", "minus-one")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow[and-cuda]==2.20.0")
    bench.write("train.py", DEMAND_2)
    bench.write("job.sh", 'echo "host $(uname -s), CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"\npython train.py\n')
    bench.run("bash job.sh", LD_LIBRARY_PATH=driver(bench, "bookworm"), CUDA_VISIBLE_DEVICES="-1")


@log("visible-devices-mistake", "set-inside")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow[and-cuda]==2.15.1")
    hidden = "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n" + DEMAND_2
    path = driver(bench, "bookworm")
    bench.write("train.py", hidden)
    bench.run("head -4 train.py; python train.py", prompt=True, LD_LIBRARY_PATH=path)


@log("gpu-ignored", "cpu-package")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    text = "import tensorflow as tf\nprint('built with CUDA:', tf.test.is_built_with_cuda())\n"
    bench.script(
        "train.py", text + "with tf.device('/gpu:0'):\n    print(tf.random.normal([2, 2]) @ tf.ones([2, 2]))\n"
    )


@log("gpu-ignored", "cpu-package-1.15")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", _PROTOBUF, "numpy<1.20")
    bench.script("train.py", DEMAND_1)


@log("harmless-cpu-only", "tf-1.15")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow-gpu==1.15.5", _PROTOBUF, "h5py<3", "numpy<1.20")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "tf-2.4")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", _PROTOBUF)
    bench.script("train.py", TRAIN, prompt=True)


@log("harmless-cpu-only", "tf-2.15")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow==2.15.1")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "tf-2.20")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow==2.20.0")
    bench.script("train.py", TRAIN)


@log("harmless-cpu-only", "hidden-on-purpose")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow==2.15.1")
    text = "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'  # evaluation runs on the CPU\n" + TRAIN
    bench.script("evaluate.py", text, LD_LIBRARY_PATH=driver(bench, "bookworm"))


@log("harmless-noise", "tf-1.15-cpu")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", _PROTOBUF, "h5py<3", "numpy<1.20")
    bench.script("train.py", TRAIN, prompt=True)


@log("harmless-noise", "tf-2.4-cpu")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", _PROTOBUF)
    bench.script("train.py", TRAIN)


@log("harmless-noise", "tf-2.20-cpu")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script("train.py", TRAIN)


@log("harmless-noise", "data-ends-early")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    text = TRAIN.replace("model.fit(x, y, epochs=2, verbose=2)", _SHORT)
    bench.script("train.py", text)


@log("harmless-noise", "retracing")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("predict.py", _RETRACE)


@log("harmless-noise", "error-that-was-caught")
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
