"""Installs as people type them: packages that came later break TensorFlow that stayed."""

from __future__ import annotations

from tools.logs.bench import Bench, interpreter_of
from tools.logs.recipes import log

_IMPORT = "import tensorflow as tf\nprint(tf.__version__)\n"
_MODEL = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.LSTM(8, input_shape=(5, 3)), tf.keras.layers.Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(np.random.rand(32, 5, 3), np.random.rand(32, 1), epochs=1, verbose=2)
"""
_SAVE = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))])
model.save("model.h5")
again = tf.keras.models.load_model("model.h5")
print(again.predict(np.zeros((1, 3))))
"""


@log("protobuf-mismatch", "tf-2.4")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4")
    bench.script("train.py", _MODEL, prompt=True)


@log("protobuf-mismatch", "tf-1.15")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5")
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "builder")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.13.1")
    bench.add("protobuf==3.19.6", deps=False)
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "runtime-version")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.add("protobuf==4.25.8", deps=False)
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "get-prototype")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.18.1")
    bench.add("protobuf==6.33.6", deps=False)
    bench.script("main.py", _IMPORT)


@log("numpy-abi", "tf-2.9-numpy-2")
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow-cpu==2.9.3")
    bench.script("train.py", _MODEL)


@log("numpy-abi", "tf-2.15-numpy-2")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.add("numpy==2.2.6", deps=False)
    bench.script("train.py", _MODEL, prompt=True)


@log("numpy-abi", "np-object")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.6.5", "protobuf<3.21")
    bench.add("numpy==1.24.4", deps=False)
    bench.script("main.py", _IMPORT)


@log("numpy-abi", "symbolic-tensor")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.add("numpy==1.20.3", deps=False)
    bench.script("train.py", _MODEL)


@log("h5py-decode", "tf-2.0")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==2.0.4", "protobuf<3.21")
    bench.add("h5py==3.8.0", deps=False)
    bench.script("load.py", _SAVE)


@log("h5py-decode", "tf-1.12")
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.12.3")
    bench.script("load.py", _SAVE, prompt=True)


@log("setuptools-pkg-resources", "tensorboard")
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow-cpu==2.11.1", "setuptools==84.2.1", "numpy<2")
    bench.run("tensorboard --logdir runs", prompt=True)


@log("setuptools-pkg-resources", "no-setuptools")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.run("uv pip uninstall -q setuptools --python venv/bin/python")
    bench.printed.clear()
    bench.script("board.py", "from tensorboard import program\nprogram.TensorBoard().configure(argv=[None])\n")


@log("wrong-python-version", "pip-tf-1.15-on-3.11")
def _(bench: Bench) -> None:
    bench.install("3.11", pip=True)
    bench.run("pip install tensorflow==1.15.5", prompt=True, host_home=True)


@log("wrong-python-version", "uv-tf-2.4-on-3.11")
def _(bench: Bench) -> None:
    bench.install("3.11")
    bench.run("uv pip install tensorflow==2.4.4", prompt=True, host_home=True)


@log("wrong-python-version", "unpinned-on-3.8")
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    bench.run("pip install 'tensorflow>=2.16'", prompt=True, host_home=True)


@log("wrong-python-version", "wheel-file")
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    fetch = "--no-deps --python-version 3.6 --only-binary=:all: --platform manylinux1_x86_64"
    bench.run(f"pip download -q {fetch} tensorflow==1.4.1", host_home=True)
    bench.printed.clear()
    bench.run("pip install ./tensorflow-1.4.1-cp36-cp36m-manylinux1_x86_64.whl", prompt=True, host_home=True)


@log("wrong-python-version", "old-pip")
def _(bench: Bench) -> None:
    interpreter = interpreter_of("3.6")
    bench.python = interpreter.parent.parent.name
    bench.run(f"{interpreter} -m venv venv")
    bench.printed.clear()
    bench.run("pip install tensorflow-gpu==1.15.5", prompt=True, host_home=True)


@log("mixed-install", "tensorflow-gpu-2.12")
def _(bench: Bench) -> None:
    bench.install("3.11", pip=True)
    bench.run("pip install tensorflow-gpu", prompt=True, host_home=True)


@log("mixed-install", "uninstalled-twin")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21", pip=True)
    bench.add("tensorflow==2.4.4")
    bench.run("pip uninstall -y tensorflow", prompt=True)
    bench.run("pip list 2>/dev/null | grep -i tensorflow", prompt=True)
    bench.script("main.py", _IMPORT, prompt=True)


@log("mixed-install", "two-releases")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", "protobuf<3.21")
    bench.add("tensorflow-cpu==2.3.4", deps=False)
    bench.run("uv pip list -q --python venv/bin/python | grep -i tensorflow", prompt=True)
    bench.script(
        "main.py",
        "import tensorflow as tf\n\nconfig = tf.estimator.RunConfig(model_dir='out')\nprint(config)\n",
        prompt=True,
    )


@log("mixed-install", "estimator")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", "protobuf<3.21", "numpy<1.20")
    bench.add("tensorflow-estimator==2.4.0", deps=False)
    bench.run("uv pip list -q --python venv/bin/python | grep -i tensorflow", prompt=True)
    bench.script(
        "main.py", "import tensorflow as tf\n\nconfig = tf.estimator.RunConfig(model_dir='out')\nprint(config)\n"
    )


@log("corrupt-download", "cut-wheel")
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    bench.run("pip download -q --no-deps tensorflow-cpu==2.4.4", host_home=True)
    bench.run("truncate -s 100M tensorflow_cpu-2.4.4-*.whl")
    bench.printed.clear()
    bench.run("pip install --no-deps ./tensorflow_cpu-2.4.4-*.whl", prompt=True, host_home=True)


@log("corrupt-download", "cut-library")
def _(bench: Bench) -> None:
    site = bench.install("3.11", "tensorflow-cpu==2.15.1")
    library = site / "tensorflow/libtensorflow_cc.so.2"
    start = library.read_bytes()[:40]
    library.unlink()
    library.write_bytes(start)
    bench.script("main.py", _IMPORT)
