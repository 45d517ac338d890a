"""The operations that networks are made of, each on one device and compared with the CPU."""

import re

from envbuilder.incontainer.probe.framework import is_first
from envbuilder.incontainer.probe.placing import (
    RESULT,
    NotInRelease,
    compared_on,
    compat,
    is_gpu,
    run_eager,
    run_ops,
    soft_placement,
    whole,
)
from envbuilder.incontainer.probe.values import look

UNITS, WIDTH, TIMES, BATCH = 16, 8, 5, 4
STRIDES = [1, 1, 1, 1]


def operations_on(tf, device):
    """Return one fact for each operation."""
    return {
        "matmul": look(matmul_on, tf, device),
        "convolution": look(convolution_on, tf, device),
        "convolution-gradient": look(gradient_on, tf, device),
        "batch-norm": look(batch_norm_on, tf, device),
        "rnn": look(rnn_on, tf, device),
    }


def matmul_on(tf, device):
    """Compare the matrix product (cuBLAS)."""

    def build(tf, left, right):
        return [tf.matmul(left, right)]

    return compared_on(tf, device, build, [whole(96, 64), whole(64, 48)], "MatMul")


def convolution_on(tf, device):
    """Compare the convolution, forward (cuDNN)."""

    def build(tf, pictures, windows):
        return [tf.nn.conv2d(pictures, windows, strides=STRIDES, padding="VALID")]

    return compared_on(tf, device, build, [whole(4, 16, 16, 8), whole(3, 3, 8, 16)], "Conv2D")


def gradient_on(tf, device):
    """Compare the convolution, backward: gradient of the windows (cuDNN)."""

    def build(tf, pictures, slopes):
        return [compat(tf).nn.conv2d_backprop_filter(pictures, [3, 3, 8, 16], slopes, STRIDES, "VALID")]

    return compared_on(tf, device, build, [whole(4, 16, 16, 8), whole(4, 14, 14, 16)], "Conv2DBackpropFilter")


def batch_norm_on(tf, device):
    """Compare batch normalisation in training: output, mean and variance of the batch (fused)."""

    def build(tf, pictures, scale, offset):
        return list(compat(tf).nn.fused_batch_norm(pictures, scale, offset, is_training=True)[:3])

    return compared_on(tf, device, build, [whole(4, 16, 16, 8), whole(8) + 4, whole(8)], "FusedBatchNorm")


def rnn_on(tf, device):
    """Compare an LSTM layer: by cuDNN if the release and the device have it; `cudnn` reports it, None: unknown."""
    seen = (first_rnn if is_first(tf) else second_rnn)(tf, device)
    told = seen["operations"] not in ([], [RESULT])
    return dict(seen, cudnn=any(name.startswith("CudnnRNN") for name in seen["operations"]) if told else None)


def small(*shape):
    """Return fixed numbers from -0.375 to 0.375, for sigmoids."""
    return whole(*shape) / 8


def second_rnn(tf, device):
    """Run TensorFlow 2.x: the layer of Keras with its defaults; cuDNN's weights are made from those of the layer."""
    inputs = small(BATCH, TIMES, WIDTH)
    # Keras places shapes and counters anywhere; the proof is the list of operations.
    was = soft_placement(tf, True)
    try:
        with tf.device(device):
            layer = tf.keras.layers.LSTM(UNITS, return_sequences=True)
            layer(tf.constant(inputs))
        weights = [small(WIDTH, 4 * UNITS), small(UNITS, 4 * UNITS), small(4 * UNITS)]
        layer.set_weights(weights)

        def build(tf, sequence):
            return [layer(sequence)]


        def by_hand():
            return [lstm_by_hand(inputs, *weights)]

        # At once: operations inside a function of Keras are not reported.
        main = "CudnnRNN|MatMul|" + re.escape(RESULT)
        return compared_on(tf, device, build, [inputs], main, by_hand, run_eager)
    finally:
        soft_placement(tf, was)


def first_rnn(tf, device):
    """Run TensorFlow 1.x: the cuDNN layer of Keras if there is one and a GPU, else the plain cell."""
    layers = getattr(getattr(tf, "keras", None), "layers", None)
    cudnn = getattr(layers, "CuDNNLSTM", None) if is_gpu(device) else None
    return plain_cell(tf, device) if cudnn is None else cudnn_layer(tf, device, cudnn)


def cudnn_layer(tf, device, kind):
    """Return CuDNNLSTM of Keras; it has a bias for the inputs and one for the state."""
    inputs, bias = small(BATCH, TIMES, WIDTH), small(8 * UNITS)
    weights = [small(WIDTH, 4 * UNITS), small(UNITS, 4 * UNITS), bias]

    def build(tf, sequence):
        named = [tf.constant_initializer(each) for each in weights]
        layer = kind(
            UNITS,
            return_sequences=True,
            unit_forget_bias=False,
            kernel_initializer=named[0],
            recurrent_initializer=named[1],
            bias_initializer=named[2],
        )
        return [layer(sequence)]

    def by_hand():
        return [lstm_by_hand(inputs, weights[0], weights[1], bias[: 4 * UNITS] + bias[4 * UNITS :])]

    return compared_on(tf, device, build, [inputs], "CudnnRNN", by_hand)


def plain_cell(tf, device):
    """Return the cell written out, step by step."""
    inputs, weights = small(BATCH, TIMES, WIDTH), [small(WIDTH, 4 * UNITS), small(UNITS, 4 * UNITS), small(4 * UNITS)]

    def build(tf, sequence):
        kernel, recurrent, bias = [tf.constant(each) for each in weights]
        state = output = tf.zeros([BATCH, UNITS])
        outputs = []
        for step in range(TIMES):
            gates = tf.matmul(sequence[:, step], kernel) + tf.matmul(output, recurrent) + bias
            fresh, forget, new, out = tf.split(gates, 4, 1)
            state = tf.sigmoid(forget) * state + tf.sigmoid(fresh) * tf.tanh(new)
            output = tf.sigmoid(out) * tf.tanh(state)
            outputs.append(output)
        return [tf.stack(outputs, 1)]

    return compared_on(tf, device, build, [inputs], "MatMul", lambda: [lstm_by_hand(inputs, *weights)])


def lstm_by_hand(inputs, kernel, recurrent, bias):
    """Compute an LSTM by numpy in double precision; gates in the order input, forget, new, output."""
    import numpy

    state = output = numpy.zeros((inputs.shape[0], recurrent.shape[0]))
    outputs = []
    for step in range(inputs.shape[1]):
        gates = inputs[:, step].astype("float64").dot(kernel) + output.dot(recurrent) + bias
        fresh, forget, new, out = numpy.split(gates, 4, axis=1)
        state = sigmoid(forget) * state + sigmoid(fresh) * numpy.tanh(new)
        output = sigmoid(out) * numpy.tanh(state)
        outputs.append(output)
    return numpy.stack(outputs, axis=1)


def sigmoid(values):
    """Return the logistic function by numpy."""
    import numpy

    return 1 / (1 + numpy.exp(-values))


def mixed_on(tf, device):
    """Compare matrix product and convolution in float16 from float32 and back with float32 on the CPU."""

    def halves(operation):
        def build(tf, left, right):
            return [tf.cast(operation(tf, tf.cast(left, tf.float16), tf.cast(right, tf.float16)), tf.float32)]

        return build

    def multiply(tf, left, right):
        return tf.matmul(left, right)

    def convolve(tf, left, right):
        return tf.nn.conv2d(left, right, strides=STRIDES, padding="VALID")

    return {
        "matmul": look(half_on, tf, device, multiply, halves, [whole(96, 64), whole(64, 48)], "MatMul"),
        "convolution": look(half_on, tf, device, convolve, halves, [whole(4, 16, 16, 8), whole(3, 3, 8, 16)], "Conv2D"),
    }


def half_on(tf, device, operation, halves, inputs, main):
    """Run one operation in float16; the reference in float32."""

    def reference():
        return run_ops(tf, "/CPU:0", lambda tf, *tensors: [operation(tf, *tensors)], inputs)[0]

    return dict(compared_on(tf, device, halves(operation), inputs, main, reference), reference="float32 on /CPU:0")


def fused(tf, left, right):
    """Return a graph suitable for compilation: product, shift and rectification."""
    return tf.nn.relu(tf.matmul(left, right) + 1.0)


def function_on(tf, device):
    """Compare a function of TensorFlow 2.x with the same operations one by one, both on the device."""
    if is_first(tf):
        raise NotInRelease("functions came with TensorFlow 2.0")
    inputs = [whole(96, 64), whole(64, 48)]

    def build(tf, left, right):
        return [fused(tf, left, right)]

    def eager():
        with tf.device(device):
            return [fused(tf, *[tf.constant(each) for each in inputs]).numpy()]

    return dict(compared_on(tf, device, build, inputs, "MatMul", eager), reference="eager on " + device)
