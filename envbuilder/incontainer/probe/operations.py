"""Operations on every GPU: devices that ran them, and comparison of their numbers."""

from envbuilder.incontainer.probe.framework import devices, is_first, session_config
from envbuilder.incontainer.probe.placing import same_device, soft_placement
from envbuilder.incontainer.probe.values import look


def on_gpu():
    """Multiply and convolve on every GPU that TensorFlow sees; return an empty list if it sees none."""
    import tensorflow as tf

    names = [item["name"] for item in devices() if item["type"] == "GPU"]
    if not names:
        return {"gpus": []}
    was = soft_placement(tf, False)
    try:
        return {"gpus": [compute_on(tf, "/GPU:{0}".format(index)) for index in range(len(names))]}
    finally:
        soft_placement(tf, was)


def compute_on(tf, device):
    """Run matrix product and convolution on one device.

    Numbers are given only for a result on the requested device.
    """
    return {
        "asked": device,
        "matmul": look(placed_result, tf, device, product, product_by_hand()),
        "convolution": look(placed_result, tf, device, convolution, convolution_by_hand()),
    }


def operands():
    """Return two fixed 64x64 matrices of small whole numbers; their product is exact in float32 and in TF32."""
    import numpy

    left = (numpy.arange(4096) * 7 % 11 - 5).reshape(64, 64).astype("float32")
    right = (numpy.arange(4096) * 5 % 13 - 6).reshape(64, 64).astype("float32")
    return left, right


def product(tf):
    """Return the matrix product."""
    left, right = operands()
    return tf.matmul(tf.constant(left), tf.constant(right), name="result")


def product_by_hand():
    """Return the same by numpy."""
    left, right = operands()
    return left.dot(right)


def convolution(tf):
    """Return the convolution of one 64x64 picture with a 3x3 window of ones, for which TensorFlow loads cuDNN."""
    import numpy

    picture = tf.constant(operands()[0].reshape(1, 64, 64, 1))
    window = tf.constant(numpy.ones((3, 3, 1, 1), dtype="float32"))
    return tf.nn.conv2d(picture, window, strides=[1, 1, 1, 1], padding="VALID", name="result")


def convolution_by_hand():
    """Return the same by numpy."""
    picture = operands()[0]
    total = sum(picture[row : row + 62, column : column + 62] for row in range(3) for column in range(3))
    return total.reshape(1, 62, 62, 1)


def placed_result(tf, device, operation, expected):
    """Run an operation on a device: return its actual device, and if that is the same, the error of its numbers."""
    import numpy

    run = run_first if is_first(tf) else run_second
    placed, result = run(tf, device, operation)
    seen = {"placed": placed, "on_device": same_device(device, placed), "difference": None}
    if seen["on_device"]:
        seen["difference"] = float(numpy.abs(numpy.asarray(result) - expected).max())
    return seen


def run_second(tf, device, operation):
    """Run TensorFlow 2.x: eagerly, so that the result knows its device."""
    with tf.device(device):
        result = operation(tf)
    return result.device, result.numpy()


def run_first(tf, device, operation):
    """Run TensorFlow 1.x: in a session that reports the placed graph."""
    with tf.Graph().as_default():
        with tf.device(device):
            result = operation(tf)
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        # Without this the optimizer folds an operation on constants away, on the CPU.
        config = session_config(tf)
        config.graph_options.optimizer_options.opt_level = -1
        with tf.Session(config=config) as session:
            value = session.run(result, options=options, run_metadata=told)
    nodes = [node for graph in told.partition_graphs for node in graph.node if node.name == result.op.name]
    return (nodes[0].device if nodes else ""), value
