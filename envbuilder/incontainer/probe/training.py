"""A tiny training, and a round trip of its result through a file."""

import os
import shutil
import tempfile

from envbuilder.incontainer.probe.framework import is_first, session_config

TRAINING_STEPS = 30


def data():
    """Return a small fixed problem: 64 points with 4 inputs on a plane."""
    import numpy

    inputs = (numpy.arange(256) * 37 % 101).reshape(64, 4).astype("float32") / 101
    outputs = inputs.dot(numpy.array([[1.0], [-2.0], [0.5], [3.0]], dtype="float32")) + 0.25
    return inputs, outputs.astype("float32")


def training(keep):
    """Train on fixed data with a fixed seed; return the losses of the first and the last step."""
    import tensorflow as tf

    return train_first(tf) if is_first(tf) else train_second(tf, keep)


def losses(values, how, device):
    """Return the course of a training."""
    first, last = float(values[0]), float(values[-1])
    return {"how": how, "steps": len(values), "first": first, "last": last, "fell": last < first, "device": device}


def train_first(tf):
    """Train in TensorFlow 1.x: a session and gradient descent."""
    inputs, outputs = data()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        loss, step = linear_model(tf, inputs, outputs)[1:]
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            values = []
            for _ in range(TRAINING_STEPS):
                values.append(session.run([loss, step])[0])
            names = [device.name for device in session.list_devices()] if hasattr(session, "list_devices") else []
    return losses(values, "session", ", ".join(names))


def linear_model(tf, inputs, outputs):
    """Return output, loss and training step of a linear model on constants."""
    weights = tf.Variable(tf.random_normal([4, 1], seed=7), name="weights")
    bias = tf.Variable(tf.zeros([1]), name="bias")
    output = tf.matmul(tf.constant(inputs), weights) + bias
    loss = tf.reduce_mean(tf.square(output - outputs))
    return output, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def keras_model(tf):
    """Return a small network of two dense layers."""
    layers = tf.keras.layers
    first = layers.Dense(8, activation="relu", input_shape=(4,))
    return tf.keras.models.Sequential([first, layers.Dense(1)])


def seed_everything(tf):
    """Fix every seed that TensorFlow 2.x and Keras use."""
    import numpy

    numpy.random.seed(7)
    tf.random.set_seed(7)
    # Keras 3 (TensorFlow 2.16 and later) has a generator of its own.
    seed = getattr(getattr(tf.keras, "utils", None), "set_random_seed", None)
    if seed is not None:
        seed(7)


def device_of(variable):
    """Return the device of a Keras variable; Keras 3 wraps the variable of TensorFlow."""
    if not hasattr(variable, "device"):
        variable = variable.value
    return variable.device or ""


def train_second(tf, keep):
    """Train in TensorFlow 2.x: Keras fit, one full batch per epoch; the model is kept for saving."""
    inputs, outputs = data()
    seed_everything(tf)
    model = keras_model(tf)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
    course = model.fit(inputs, outputs, epochs=TRAINING_STEPS, batch_size=len(inputs), shuffle=False, verbose=0)
    keep["model"] = model
    return losses(course.history["loss"], "keras", device_of(model.weights[0]))


def saving(keep):
    """Save the trained model, load it back, and compare the outputs."""
    import tensorflow as tf

    folder = tempfile.mkdtemp(prefix="envbuilder-")
    try:
        if is_first(tf):
            return [save_checkpoint(tf, folder)] + save_keras_first(tf, folder)
        if "model" not in keep:
            raise RuntimeError("there is no trained model to save")
        return [save_keras(tf, keep["model"], folder, suffix_of(tf))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compared(form, before, after):
    """Return the comparison of the outputs before saving and after loading."""
    import numpy

    difference = float(numpy.abs(numpy.asarray(before) - numpy.asarray(after)).max())
    return {"format": form, "difference": difference, "equal": difference == 0.0}


def suffix_of(tf):
    """Return the recommended format of this release."""
    version = [int(part) for part in tf.__version__.split(".")[:2]]
    return "keras" if version >= [2, 12] else "h5"


def save_keras(tf, model, folder, suffix):
    """Run the round trip of a Keras model through one file."""
    inputs = data()[0]
    path = os.path.join(folder, "model." + suffix)
    before = model.predict(inputs, verbose=0)
    model.save(path)
    return compared(suffix, before, tf.keras.models.load_model(path).predict(inputs, verbose=0))


def save_keras_first(tf, folder):
    """Run the round trip of Keras in TensorFlow 1.x through HDF5; return None if Keras or h5py is not installed."""
    try:
        import h5py  # noqa: F401
    except ImportError:
        return []
    if not hasattr(tf, "keras"):
        return []
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        with tf.Session(config=session_config(tf)) as session:
            tf.keras.backend.set_session(session)
            model = keras_model(tf)
            model.compile(optimizer="sgd", loss="mse")
            inputs, outputs = data()
            model.fit(inputs, outputs, epochs=2, batch_size=len(inputs), shuffle=False, verbose=0)
            return [save_keras(tf, model, folder, "h5")]


def save_checkpoint(tf, folder):
    """Run the round trip of the variables of TensorFlow 1.x through a checkpoint, into a session of its own."""
    inputs, outputs = data()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        output, _, step = linear_model(tf, inputs, outputs)
        saver = tf.train.Saver()
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            before = session.run(output)
            path = saver.save(session, os.path.join(folder, "model"))
        with tf.Session(config=session_config(tf)) as session:
            saver.restore(session, path)
            return compared("checkpoint", before, session.run(output))
