"""Keras and TensorFlow that were not made for each other, and code of TensorFlow 1 on TensorFlow 2."""

from __future__ import annotations

from tools.logs.bench import Bench
from tools.logs.recipes import log

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


@log("keras-tf-mismatch", "keras-2.2.4-tf-1.4")
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.4.1", "keras==2.2.4", "h5py<3", "numpy<1.17")
    bench.script("train.py", _STANDALONE, prompt=True)


@log("keras-tf-mismatch", "keras-3-tf-2.15")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1", "tensorflow-addons==0.23.0")
    bench.add("keras==3.8.0", "namex", "optree", "rich", "absl-py")
    bench.script(
        "train.py",
        "import tensorflow as tf\nimport tensorflow_addons as tfa\n\n"
        "print(tf.keras.__version__, tfa.optimizers.AdamW)\n",
        prompt=True,
    )


@log("keras-tf-mismatch", "keras-2.2.4-tf-2.0")
def _(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==2.0.4", "protobuf<3.21", "keras==2.2.4", "h5py<3", "numpy<1.19")
    bench.script("train.py", _STANDALONE)


@log("keras-tf-mismatch", "placeholder")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("mnist.py", _OLD_CODE)


@log("keras-tf-mismatch", "contrib")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.script(
        "model.py", "import tensorflow as tf\nfrom tensorflow.contrib import slim\n\nprint(slim)\n", prompt=True
    )


@log("keras-tf-mismatch", "saved-by-2.15")
def _(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")
    bench.script("save.py", "import tensorflow as tf\n\n"
                            "model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])\n"
                 "model.compile('adam', 'mse')\nmodel.save('model')\n")  # fmt: skip
    bench.run("rm -rf venv")
    bench.printed.clear()
    bench.install("3.11", "tensorflow-cpu==2.16.2")
    bench.script(
        "load.py",
        "import tensorflow as tf\n\nmodel = tf.keras.models.load_model('model')\n"
        "print(model.predict(tf.ones([1, 3])))\n",
    )


@log("keras-tf-mismatch", "keras-2.9-tf-2.6")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.6.0", "keras==2.9.0", "protobuf<3.21")
    bench.script("train.py", "import tensorflow as tf\n\nprint(tf.keras.layers.Dense(2))\n")


@log("keras-tf-mismatch", "no-sequential-1.4")
def _(bench: Bench) -> None:
    bench.install("3.6", "tensorflow==1.4.1", "numpy<1.17")
    bench.script(
        "train.py",
        "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\n"
        "model.add(tf.keras.layers.Dense(1, input_shape=(3,)))\n",
    )


@log("keras-tf-mismatch", "optimizer-lr")
def _(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")
    bench.script("train.py", "import tensorflow as tf\n\noptimizer = tf.keras.optimizers.Adam(lr=0.001, decay=1e-6)\n")
