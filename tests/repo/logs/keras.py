"""Keras and TensorFlow that were not made for each other, and code of TensorFlow 1 on TensorFlow 2."""

from __future__ import annotations

from tests.repo.logs.bench import Bench
from tests.repo.logs.recipes import log

_STANDALONE = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential

model = Sequential()
model.add(Dense(16, activation="relu", input_dim=8))
model.add(Dense(3, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam")
model.fit(np.random.rand(64, 8), np.eye(3)[np.random.randint(0, 3, 64)], epochs=1, verbose=2)
"""
_OLD_CODE = """\
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 784])
w = tf.Variable(tf.zeros([784, 10]))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
"""


@log("keras-tf-mismatch", "keras-2.2.4-tf-1.4", tf="1.4.1", keras="2.2.4",
     cause="Keras 2.2.4 calls tf.nn.softmax(axis=…); TensorFlow has that argument from 1.5 on.",
     fix="pip install keras==2.1.5 (the last one that works with TensorFlow 1.4), or TensorFlow 1.5 or newer")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.4.1", "keras==2.2.4", "h5py<3", "numpy<1.17")
    bench.script("train.py", _STANDALONE, prompt=True)


@log("keras-tf-mismatch", "keras-3-tf-2.15", tf="2.15.1", keras="3.8.0", tensorflow_addons="0.23.0",
     cause="pip install -U keras put Keras 3 over the Keras 2.15 that TensorFlow 2.15 and its add-ons need.",
     fix="pip install 'keras>=2.15,<2.16'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1", "tensorflow-addons==0.23.0")
    bench.add("keras==3.8.0", "namex", "optree", "rich", "absl-py")
    bench.script(
        "train.py",
        "import tensorflow as tf\nimport tensorflow_addons as tfa\n\nprint(tf.keras.__version__, tfa.optimizers.AdamW)\n",
        prompt=True,
    )


@log("keras-tf-mismatch", "keras-2.2.4-tf-2.0", tf="2.0.4", keras="2.2.4",
     cause="Keras 2.2.4 is written for the API of TensorFlow 1; TensorFlow 2 has no tf.get_default_graph.",
     fix="from tensorflow import keras, or TensorFlow 1.15")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==2.0.4", "protobuf<3.21", "keras==2.2.4", "h5py<3", "numpy<1.19")
    bench.script("train.py", _STANDALONE)


@log("keras-tf-mismatch", "placeholder", tf="2.15.1", keras="2.15.0",
     cause="The script is written for TensorFlow 1 (tf.placeholder, tf.Session) and runs on TensorFlow 2.",
     fix="import tensorflow.compat.v1 as tf; tf.disable_v2_behavior(), or the environment tf-1.15-cpu")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("mnist.py", _OLD_CODE)


@log("keras-tf-mismatch", "contrib", tf="2.4.4",
     cause="tf.contrib ended with TensorFlow 1.15.", fix="the environment tf-1.15-cpu, or tf-slim and tensorflow-addons instead of contrib")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.script(
        "model.py", "import tensorflow as tf\nfrom tensorflow.contrib import slim\n\nprint(slim)\n", prompt=True
    )


@log("keras-tf-mismatch", "saved-by-2.15", tf="2.16.2", keras="3",
     cause="TensorFlow 2.16 brings Keras 3, which does not load a SavedModel of Keras 2 by load_model.",
     fix="pip install 'tf_keras~=2.16.0' and TF_USE_LEGACY_KERAS=1, or keras.layers.TFSMLayer")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("save.py", "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])\n"
                 "model.compile('adam', 'mse')\nmodel.save('model')\n")  # fmt: skip
    bench.run("rm -rf venv")
    bench.printed.clear()
    bench.install("3.11", "tensorflow-cpu==2.16.2")
    bench.script(
        "load.py",
        "import tensorflow as tf\n\nmodel = tf.keras.models.load_model('model')\nprint(model.predict(tf.ones([1, 3])))\n",
    )


@log("keras-tf-mismatch", "keras-2.9-tf-2.6", tf="2.6.0", keras="2.9.0",
     cause="TensorFlow 2.6 takes any keras from 2.6 on, and Keras 2.9 needs parts of TensorFlow 2.9.",
     fix="pip install 'keras<2.7'")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.6.0", "keras==2.9.0", "protobuf<3.21")
    bench.script("train.py", "import tensorflow as tf\n\nprint(tf.keras.layers.Dense(2))\n")


@log("keras-tf-mismatch", "no-sequential-1.4", tf="1.4.1",
     cause="TensorFlow 1.4 has Keras as tf.keras, but not under tensorflow.python.keras, which is private.",
     fix="import tensorflow as tf; tf.keras.models.Sequential")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.4.1", "numpy<1.17")
    bench.script(
        "train.py",
        "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\nmodel.add(tf.keras.layers.Dense(1, input_shape=(3,)))\n",
    )


@log("keras-tf-mismatch", "optimizer-lr", tf="2.20.0", keras="3",
     cause="Keras 3 knows learning_rate, no longer lr.", fix="learning_rate=0.001 instead of lr=0.001")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script("train.py", "import tensorflow as tf\n\noptimizer = tf.keras.optimizers.Adam(lr=0.001, decay=1e-6)\n")
