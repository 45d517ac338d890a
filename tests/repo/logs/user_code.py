"""Mistakes in the script itself; TensorFlow and the machine are well."""

from __future__ import annotations

from tests.repo.logs.bench import Bench
from tests.repo.logs.recipes import log

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


@log("user-code", "input-shape", tf="2.15.1", cause="The model was made for 20 columns and is fed 28.",
     fix="input_shape=(28,), or the columns that the model was made for")  # fmt: skip
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script("train.py", _KERAS + "model.fit(np.random.rand(64, 28), y, verbose=2)\n", prompt=True)


@log("user-code", "matmul-shape-1.15", tf="1.15.5", cause="The inner dimensions of the product differ: 784 and 748.", fix="weights of the shape [784, 10]")  # fmt: skip
def _(bench: Bench) -> None:
    _old(bench)
    bench.script("model.py", "import tensorflow as tf\n\nx = tf.placeholder(tf.float32, [None, 784])\n"
                 "logits = tf.matmul(x, tf.zeros([748, 10]))\n")  # fmt: skip


@log("user-code", "feed-shape-1.15", tf="1.15.5", cause="The placeholder wants 784 numbers in a row and gets images of 28 by 28.",
     fix="batch.reshape(-1, 784)")  # fmt: skip
def _(bench: Bench) -> None:
    _old(bench)
    bench.script("model.py", "import numpy as np\nimport tensorflow as tf\n\nx = tf.placeholder(tf.float32, [None, 784], name='images')\n"
                 "total = tf.reduce_sum(x)\nwith tf.Session() as session:\n"
                 "    print(session.run(total, {x: np.zeros([32, 28, 28])}))\n")  # fmt: skip


@log("user-code", "dtype", tf="2.20.0", cause="A float64 array and float32 weights are multiplied.", fix="tf.cast(x, tf.float32)")  # fmt: skip
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("model.py", "import numpy as np\nimport tensorflow as tf\n\nweights = tf.Variable(tf.zeros([20, 4]))\n"
                 "print(tf.matmul(np.random.rand(8, 20), weights))\n")  # fmt: skip


@log("user-code", "object-array", tf="2.15.1", cause="Rows of different length make an array of objects, which cannot become a tensor.",
     fix="pad the rows to one length: tf.keras.utils.pad_sequences")  # fmt: skip
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script(
        "train.py",
        _KERAS
        + "rows = np.array([[1.0] * (i % 5 + 1) for i in range(64)], dtype=object)\nmodel.fit(rows, y, verbose=2)\n",
    )


@log("user-code", "label-range", tf="2.20.0", cause="Labels go from 1 to 10; ten classes are numbered 0 to 9.", fix="y - 1, or Dense(11)")  # fmt: skip
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("train.py", _KERAS + "model.fit(x, np.arange(64) % 10 + 1, verbose=2)\n")


@log("user-code", "label-range-2.4", tf="2.4.4", cause="Labels go from 1 to 10; ten classes are numbered 0 to 9.", fix="y - 1, or Dense(11)")  # fmt: skip
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.script("train.py", _KERAS + "model.fit(x, np.arange(64) % 10 + 1, verbose=2)\n")


@log("user-code", "nan-loss", tf="2.15.1", cause="The data holds a value that is not a number, and the learning rate is far too high: the loss is nan.",
     fix="look for nan in the data (np.isnan(x).any()), then a smaller learning rate and clipnorm=1.0")  # fmt: skip
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


@log("user-code", "check-numerics", tf="2.20.0", cause="The logarithm of 0 is taken: the loss is infinite, its gradient not a number.",
     fix="tf.math.log(p + 1e-7), or a loss from logits")  # fmt: skip
def _(bench: Bench) -> None:
    _new(bench)
    bench.script("loss.py", "import tensorflow as tf\n\ntf.debugging.enable_check_numerics()\np = tf.Variable([0.0, 0.5])\n"
                 "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(p * tf.math.log(p))\nprint(tape.gradient(loss, p))\n")  # fmt: skip


@log("user-code", "embedding-range", tf="2.15.1", cause="A token has the number 100, and the embedding has 100 rows: 0 to 99.",
     fix="Embedding(101, 8), or a tokenizer with num_words=100")  # fmt: skip
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script("train.py", "import numpy as np\nimport tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Embedding(100, 8), "
                 "tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\n"
                 "model.fit(np.arange(1, 101).reshape(10, 10), np.zeros(10), verbose=2)\n")  # fmt: skip


@log("user-code", "logits-and-labels", tf="2.20.0", cause="One-hot labels of 10 columns meet an output of 4.", fix="Dense(10) as the last layer")  # fmt: skip
def _(bench: Bench) -> None:
    _new(bench)
    text = _KERAS.replace("Dense(10,", "Dense(4,").replace("sparse_categorical", "categorical")
    bench.script("train.py", text + "model.fit(x, np.eye(10)[y], verbose=2)\n")


@log("user-code", "file-not-there", tf="2.15.1", cause="The path of the training data does not exist.", fix="give the folder as it is seen inside the job")  # fmt: skip
def _(bench: Bench) -> None:
    _middle(bench)
    bench.script(
        "train.py",
        "import tensorflow as tf\n\ndata = tf.data.TFRecordDataset('/data/train-00000.tfrecord')\nprint(sum(1 for _ in data))\n",
    )
