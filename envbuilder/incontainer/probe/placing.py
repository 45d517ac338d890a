"""Graphs run on one device: placement of operations, and comparison of numbers."""

import re

from envbuilder.incontainer.probe.framework import devices, is_first, session_config
from envbuilder.incontainer.probe.values import look, text

REFERENCE = "/CPU:0"
RESULT = "(result)"


class NotInRelease(Exception):
    """The feature is not in this release of TensorFlow."""


def same_device(asked, placed):
    """Return True if /GPU:0 is the device that TensorFlow calls /job:localhost/replica:0/task:0/device:GPU:0."""
    return re.search(r"(^|[:/])" + re.escape(asked.strip("/")) + "$", placed, re.IGNORECASE) is not None


def is_gpu(device):
    """Return True if a device name means a GPU; a rehearsal runs on the CPU."""
    return "GPU" in device


def gpu_names():
    """Return the GPUs that TensorFlow sees, as /GPU:0, /GPU:1, ..."""
    return ["/GPU:{0}".format(index) for index in range(len([each for each in devices() if each["type"] == "GPU"]))]


def on_every_gpu(work):
    """Run a step of the probe on each GPU separately; return an empty list if TensorFlow sees none."""

    def step():
        names = gpu_names()
        return {"gpus": on_devices(work, names) if names else []}

    return step


def on_devices(work, names):
    """Return the work on each device as a fact of its own; TensorFlow may not move it to another device."""
    import tensorflow as tf

    was = soft_placement(tf, False)
    try:
        return [{"asked": name, "work": look(work, tf, name)} for name in names]
    finally:
        soft_placement(tf, was)


def soft_placement(tf, wanted):
    """Allow or forbid TensorFlow 2.x to move work to another device; return the old value. In 1.x sessions have it."""
    if is_first(tf):
        return False
    was = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(wanted)
    return was


def compat(tf):
    """Return the functions of TensorFlow 1.x, by their old names."""
    return tf if is_first(tf) else tf.compat.v1


def run_ops(tf, device, build, inputs):
    """Run a graph on a device: return the values of its results, and the operations that ran as (type, device)."""
    return (run_session if is_first(tf) else run_function)(tf, device, build, inputs)


def run_session(tf, device, build, inputs):
    """Run TensorFlow 1.x: a session that reports the placed graph."""
    with tf.Graph().as_default():
        with tf.device(device):
            places = [tf.placeholder(each.dtype, each.shape) for each in inputs]
            results = build(tf, *places)
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            values = session.run(results, dict(zip(places, inputs)), options=options, run_metadata=told)
    return values, nodes_of(told.partition_graphs)


def run_function(tf, device, build, inputs):
    """Run TensorFlow 2.x: a function that reports its placed graph."""
    from tensorflow.python.eager import context

    @tf.function
    def function(*tensors):
        with tf.device(device):
            return build(tf, *tensors)

    with tf.device(device):
        tensors = [tf.constant(each) for each in inputs]
    context.enable_run_metadata()
    try:
        values = [each.numpy() for each in function(*tensors)]
        told = context.export_run_metadata()
    finally:
        context.disable_run_metadata()
    return values, nodes_of(told.partition_graphs)


def run_eager(tf, device, build, inputs):
    """Run TensorFlow 2.x: operation by operation, each reported with the device of its results.

    TensorFlow 2.0 and 2.1 do not report operations; there only the device of the results is known.
    """
    nodes = []

    def note(kind, inputs, attributes, outputs, op_name=None, graph=None):
        nodes.extend((text(kind), each.device) for each in outputs if graph is None)

    try:
        from tensorflow.python.framework import op_callbacks
    except ImportError:
        op_callbacks = None
    with tf.device(device):
        tensors = [tf.constant(each) for each in inputs]
        if op_callbacks is not None:
            op_callbacks.add_op_callback(note)
        try:
            results = build(tf, *tensors)
        finally:
            if op_callbacks is not None:
                op_callbacks.remove_op_callback(note)
    return [each.numpy() for each in results], nodes or [(RESULT, each.device) for each in results]


def nodes_of(graphs):
    """Return type and device of every operation of some graphs."""
    return [(node.op, node.device) for graph in graphs for node in graph.node]


def evidence(device, nodes, main):
    """Return the devices of the operations whose type matches a pattern; on the device only if all ran there."""
    ran = sorted(set((kind, place) for kind, place in nodes if re.search(main, kind)))
    return {
        "placed": sorted(set(place for _, place in ran)),
        "on_device": bool(ran) and all(same_device(device, place) for _, place in ran),
        "operations": sorted(set(kind for kind, _ in ran)),
    }


def evidence_of(device, place):
    """Return the same for one result that knows its device."""
    return {"placed": [place], "on_device": same_device(device, place), "operations": []}


def compared_on(tf, device, build, inputs, main, reference=None, run=run_ops):
    """Run a graph on a device and compare its results with those of the CPU, or of a reference by numpy.

    Numbers are given only when all main operations ran on the device.
    """
    values, nodes = run(tf, device, build, inputs)
    seen = evidence(device, nodes, main)
    if not seen["on_device"]:
        return dict(seen, absolute=None, relative=None, reference="", tf32=tensor_float(tf))
    wanted = reference() if reference else run_ops(tf, REFERENCE, build, inputs)[0]
    return dict(seen, reference="numpy" if reference else REFERENCE, tf32=tensor_float(tf), **differences(values, wanted))


def differences(values, wanted):
    """Return the largest difference of several results, absolute and relative to the largest number of a result."""
    import numpy

    absolute, relative = 0.0, 0.0
    for value, right in zip(values, wanted):
        value, right = numpy.asarray(value, dtype="float64"), numpy.asarray(right, dtype="float64")
        if value.shape != right.shape:
            raise ValueError("a result has shape {0} instead of {1}".format(value.shape, right.shape))
        off, largest = float(numpy.abs(value - right).max()), float(numpy.abs(right).max())
        # max() would drop a nan; a sum of comparisons would too.
        absolute = off if not off <= absolute else absolute
        share = off / largest if largest else off
        relative = share if not share <= relative else relative
    return {"absolute": absolute, "relative": relative}


def tensor_float(tf):
    """Return True if TensorFlow lets Ampere and later GPUs compute float32 as TF32; None without a switch (to 2.3)."""
    ask = getattr(getattr(getattr(tf, "config", None), "experimental", None), "tensor_float_32_execution_enabled", None)
    return None if ask is None else bool(ask())


def whole(*shape):
    """Return fixed whole numbers from -3 to 3 in float32: exact in TF32 and float16, as are their sums up to 2048."""
    import numpy

    count = 1
    for length in shape:
        count *= length
    return ((numpy.arange(count) * 5 + numpy.arange(count) // 7) % 7 - 3).reshape(shape).astype("float32")
