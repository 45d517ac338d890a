"""Installs as people type them: packages that came later break TensorFlow that stayed."""

from __future__ import annotations

from tests.repo.logs.bench import Bench, interpreter_of
from tests.repo.logs.recipes import log

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


@log("protobuf-mismatch", "tf-2.4", tf="2.4.4", protobuf="5.29.6",
     cause="TensorFlow 2.4 asks for protobuf >=3.9.2 without an upper bound; its generated code does not run with 4 or newer.",
     fix="pip install 'protobuf<3.21'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4")
    bench.script("train.py", _MODEL, prompt=True)


@log("protobuf-mismatch", "tf-1.15", tf="1.15.5", protobuf="4.24.4",
     cause="The generated code of TensorFlow 1.15 does not run with protobuf 4.", fix="pip install 'protobuf<3.21'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5")
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "builder", tf="2.13.1", protobuf="3.19.6",
     cause="The generated code of TensorFlow 2.13 needs google.protobuf.internal.builder, which protobuf has from 3.20.",
     fix="pip install 'protobuf>=3.20.3,<5'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.13.1")
    bench.add("protobuf==3.19.6", deps=False)
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "runtime-version", tf="2.20.0", protobuf="4.25.8",
     cause="TensorFlow 2.20 is generated for protobuf 5.28 or newer; something pulled protobuf 4 over it.",
     fix="pip install 'protobuf>=5.28'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.add("protobuf==4.25.8", deps=False)
    bench.script("main.py", _IMPORT)


@log("protobuf-mismatch", "get-prototype", tf="2.18.1", protobuf="6.33.6",
     cause="protobuf 6 has no MessageFactory.GetPrototype any more; TensorFlow 2.18 still asks for it.",
     fix="pip install 'protobuf<6'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.18.1")
    bench.add("protobuf==6.33.6", deps=False)
    bench.script("main.py", _IMPORT)


@log("numpy-abi", "tf-2.9-numpy-2", tf="2.9.3", numpy="2.2.6",
     cause="TensorFlow 2.9 was compiled against NumPy 1 and asks for it without an upper bound.", fix="pip install 'numpy<2'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow-cpu==2.9.3")
    bench.script("train.py", _MODEL)


@log("numpy-abi", "tf-2.15-numpy-2", tf="2.15.1", numpy="2.2.6",
     cause="TensorFlow 2.15 was compiled against NumPy 1; an upgrade of NumPy went over its bound (<2).",
     fix="pip install 'numpy<2'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.add("numpy==2.2.6", deps=False)
    bench.script("train.py", _MODEL, prompt=True)


@log("numpy-abi", "np-object", tf="2.6.5", numpy="1.24.4",
     cause="NumPy 1.24 removed np.object; TensorFlow 2.6 still uses it.", fix="pip install 'numpy<1.24'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.6.5", "protobuf<3.21")
    bench.add("numpy==1.24.4", deps=False)
    bench.script("main.py", _IMPORT)


@log("numpy-abi", "symbolic-tensor", tf="2.4.4", numpy="1.20.3",
     cause="The LSTM of TensorFlow 2.4 asks NumPy for the product of a shape that holds a tensor; NumPy 1.20 refuses that.",
     fix="pip install 'numpy<1.20'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.add("numpy==1.20.3", deps=False)
    bench.script("train.py", _MODEL)


@log("h5py-decode", "tf-2.0", tf="2.0.4", h5py="3.8.0",
     cause="h5py 3 gives str where it gave bytes; the loader of TensorFlow 2.0 decodes it once more.",
     fix="pip install 'h5py<3'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==2.0.4", "protobuf<3.21")
    bench.add("h5py==3.8.0", deps=False)
    bench.script("load.py", _SAVE)


@log("h5py-decode", "tf-1.12", tf="1.12.3", h5py="3.1.0",
     cause="h5py 3 gives str where it gave bytes; the loader of TensorFlow 1.12 decodes it once more.",
     fix="pip install 'h5py<3'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.12.3")
    bench.script("load.py", _SAVE, prompt=True)


@log("setuptools-pkg-resources", "tensorboard", tf="2.11.1", setuptools="84.2.1",
     cause="setuptools 82 removed pkg_resources, which the tensorboard of TensorFlow 2.11 imports.",
     fix="pip install 'setuptools<82'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.10", "tensorflow-cpu==2.11.1", "setuptools==84.2.1", "numpy<2")
    bench.run("tensorboard --logdir runs", prompt=True)


@log("setuptools-pkg-resources", "no-setuptools", tf="2.20.0",
     cause="The environment has no setuptools (uv makes none, Python 3.12 neither), and tensorboard imports pkg_resources.",
     fix="pip install 'setuptools<82'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.run("uv pip uninstall -q setuptools --python venv/bin/python")
    bench.printed.clear()
    bench.script("board.py", "from tensorboard import program\nprogram.TensorBoard().configure(argv=[None])\n")


@log("wrong-python-version", "pip-tf-1.15-on-3.11", tf="1.15.5",
     cause="TensorFlow 1.15 has wheels for CPython 2.7 to 3.7 only; this is 3.11.",
     fix="use CPython 3.7, or the environment tf-1.15-cpu")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", pip=True)
    bench.run("pip install tensorflow==1.15.5", prompt=True, host_home=True)


@log("wrong-python-version", "uv-tf-2.4-on-3.11", tf="2.4.4",
     cause="TensorFlow 2.4 has wheels for CPython 3.6 to 3.8 only; this is 3.11.",
     fix="uv venv --python 3.8, or the environment tf-2.4-cpu")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11")
    bench.run("uv pip install tensorflow==2.4.4", prompt=True, host_home=True)


@log("wrong-python-version", "unpinned-on-3.8", tf="2.21.0",
     cause="TensorFlow 2.21 needs CPython 3.10 or newer; this is 3.8.", fix="uv venv --python 3.12")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    bench.run("pip install 'tensorflow>=2.16'", prompt=True, host_home=True)


@log("wrong-python-version", "wheel-file", tf="1.4.1",
     cause="The file is a wheel for CPython 3.6 (cp36); this is 3.8.", fix="use CPython 3.6, or the environment tf-1.4-cpu")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    fetch = "--no-deps --python-version 3.6 --only-binary=:all: --platform manylinux1_x86_64"
    bench.run(f"pip download -q {fetch} tensorflow==1.4.1", host_home=True)
    bench.printed.clear()
    bench.run("pip install ./tensorflow-1.4.1-cp36-cp36m-manylinux1_x86_64.whl", prompt=True, host_home=True)


@log("wrong-python-version", "old-pip", tf="1.15.5",
     cause="The pip that comes with CPython 3.6 (18.1) does not know manylinux2010, the tag of TensorFlow 1.15's wheels.",
     fix="pip install -U 'pip>=19,<22' and once more")  # fmt: skip
def _(bench: Bench) -> None:
    interpreter = interpreter_of("3.6")
    bench.python = interpreter.parent.parent.name
    bench.run(f"{interpreter} -m venv venv")
    bench.printed.clear()
    bench.run("pip install tensorflow-gpu==1.15.5", prompt=True, host_home=True)


@log("package-renamed", "tensorflow-gpu", tf="2.12.0",
     cause="tensorflow-gpu ended with 2.11; 2.12.0 of that name is an empty package that only fails.",
     fix="pip install tensorflow (the same release number; from 2.14 on 'tensorflow[and-cuda]')")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", pip=True)
    bench.run("pip install tensorflow-gpu", prompt=True, host_home=True)


@log("mixed-install", "uninstalled-twin", tf="2.4.4",
     cause="tensorflow and tensorflow-cpu share one folder; removing one of them removed the files of the other.",
     fix="pip uninstall -y tensorflow tensorflow-cpu tensorflow-gpu; pip install tensorflow-cpu==2.4.4")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21", pip=True)
    bench.add("tensorflow==2.4.4")
    bench.run("pip uninstall -y tensorflow", prompt=True)
    bench.run("pip list 2>/dev/null | grep -i tensorflow", prompt=True)
    bench.script("main.py", _IMPORT, prompt=True)


@log("mixed-install", "two-releases", tf="2.4.4 and 2.3.4",
     cause="tensorflow-cpu 2.3.4 was installed over tensorflow 2.4.4: the folder holds files of both, and tensorflow-estimator is of 2.4.",
     fix="pip uninstall -y tensorflow tensorflow-cpu tensorflow-estimator; pip install tensorflow-cpu==2.4.4")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", "protobuf<3.21")
    bench.add("tensorflow-cpu==2.3.4", deps=False)
    bench.run("uv pip list -q --python venv/bin/python | grep -i tensorflow", prompt=True)
    bench.script(
        "main.py",
        "import tensorflow as tf\n\nconfig = tf.estimator.RunConfig(model_dir='out')\nprint(config)\n",
        prompt=True,
    )


@log("mixed-install", "estimator", tf="1.15.5", estimator="2.4.0",
     cause="tensorflow-estimator 2.4 came with another package; TensorFlow 1.15 needs 1.15.1.",
     fix="pip install tensorflow-estimator==1.15.1")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", "protobuf<3.21", "numpy<1.20")
    bench.add("tensorflow-estimator==2.4.0", deps=False)
    bench.run("uv pip list -q --python venv/bin/python | grep -i tensorflow", prompt=True)
    bench.script(
        "main.py", "import tensorflow as tf\n\nconfig = tf.estimator.RunConfig(model_dir='out')\nprint(config)\n"
    )


@log("corrupt-download", "cut-wheel", tf="2.4.4",
     cause="The wheel file ends too early: its download was cut.", fix="delete the file, download it again; pip cache purge")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", pip=True)
    bench.run("pip download -q --no-deps tensorflow-cpu==2.4.4", host_home=True)
    bench.run("truncate -s 100M tensorflow_cpu-2.4.4-*.whl")
    bench.printed.clear()
    bench.run("pip install --no-deps ./tensorflow_cpu-2.4.4-*.whl", prompt=True, host_home=True)


@log("corrupt-download", "cut-library", tf="2.15.1",
     cause="A library of TensorFlow is shorter than it should be: the disk was full, or a copy was cut.",
     fix="pip install --force-reinstall --no-cache-dir --no-deps tensorflow-cpu==2.15.1")  # fmt: skip
def _(bench: Bench) -> None:
    site = bench.install("3.11", "tensorflow-cpu==2.15.1")
    library = site / "tensorflow/libtensorflow_cc.so.2"
    start = library.read_bytes()[:40]
    library.unlink()
    library.write_bytes(start)
    bench.script("main.py", _IMPORT)
