"""Mistakes in the script itself; TensorFlow and the machine are well."""

from __future__ import annotations

from tools.logs.bench import Bench
from tools.logs.recipes import log

_KERAS = """\
import numpy as np
import tensorflow as tf

x, y = np.random.rand(64, 20).astype("float32"), np.random.randint(0, 10, 64)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu", input_shape=(20,)),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
"""


def _new(bench: Bench) -> None:
    bench.install("3.12", "tensorflow-cpu==2.20.0")


def _middle(bench: Bench) -> None:
    bench.install("3.11", "tensorflow-cpu==2.15.1")


def _old(bench: Bench) -> None:
    bench.install("3.7", "tensorflow==1.15.5", "protobuf<3.21", "h5py<3", "numpy<1.20")


@log("user-code", "input-shape")
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script("train.py", _KERAS + "model.fit(np.random.rand(64, 28), y, verbose=2)\n", prompt=True)


@log("user-code", "matmul-shape-1.15")
def _(bench: Bench) -> None:
    _old(bench)
    bench.script("model.py", "import tensorflow as tf\n\nx = tf.placeholder(tf.float32, [None, 784])\n"
                 "logits = tf.matmul(x, tf.zeros([748, 10]))\n")  # fmt: skip


@log("user-code", "feed-shape-1.15")
def _(bench: Bench) -> None:
    _old(bench)
    bench.script("model.py", "import numpy as np\nimport tensorflow as tf\n\n"
                             "x = tf.placeholder(tf.float32, [None, 784], name='images')\n"
                 "total = tf.reduce_sum(x)\nwith tf.Session() as session:\n"
                 "    print(session.run(total, {x: np.zeros([32, 28, 28])}))\n")  # fmt: skip


@log("user-code", "dtype")
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("model.py", "import numpy as np\nimport tensorflow as tf\n\nweights = tf.Variable(tf.zeros([20, 4]))\n"
                 "print(tf.matmul(np.random.rand(8, 20), weights))\n")  # fmt: skip


@log("user-code", "object-array")
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script(
        "train.py",
        _KERAS
        + "rows = np.array([[1.0] * (i % 5 + 1) for i in range(64)], dtype=object)\nmodel.fit(rows, y, verbose=2)\n",
    )


@log("user-code", "label-range")
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("train.py", _KERAS + "model.fit(x, np.arange(64) % 10 + 1, verbose=2)\n")


@log("user-code", "label-range-2.4")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.script("train.py", _KERAS + "model.fit(x, np.arange(64) % 10 + 1, verbose=2)\n")


@log("user-code", "nan-loss")
def _(bench: Bench) -> None:
    _middle(bench)
    text = (
        _KERAS.replace('"relu"', '"tanh"').replace('optimizer="adam"', "optimizer=tf.keras.optimizers.SGD(1e4)")
        + "x[3, 5] = np.nan\n"
    )
    stop = "model.fit(x, y, epochs=4, verbose=2, callbacks=[tf.keras.callbacks.TerminateOnNaN()])\n"
    bench.script(
        "train.py", text + stop + "assert not np.isnan(model.evaluate(x, y, verbose=0)), 'training diverged'\n"
    )


@log("user-code", "check-numerics")
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("loss.py", "import tensorflow as tf\n\ntf.debugging.enable_check_numerics()\n"
                            "p = tf.Variable([0.0, 0.5])\n"
                 "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(p * tf.math.log(p))\n"
                 "print(tape.gradient(loss, p))\n")  # fmt: skip


@log("user-code", "embedding-range")
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script("train.py", "import numpy as np\nimport tensorflow as tf\n\n"
                             "model = tf.keras.Sequential([tf.keras.layers.Embedding(100, 8), "
                 "tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\n"
                 "model.fit(np.arange(1, 101).reshape(10, 10), np.zeros(10), verbose=2)\n")  # fmt: skip


@log("user-code", "logits-and-labels")
def _(bench: Bench) -> None:
    _new(bench)
    text = _KERAS.replace("Dense(10,", "Dense(4,").replace("sparse_categorical", "categorical")
    bench.script("train.py", text + "model.fit(x, np.eye(10)[y], verbose=2)\n")


@log("user-code", "file-not-there")
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script(
        "train.py",
        "import tensorflow as tf\n\ndata = tf.data.TFRecordDataset('/data/train-00000.tfrecord')\n"
        "print(sum(1 for _ in data))\n",
    )
