"""Training on one device, and code that XLA compiles for it."""

from envbuilder.incontainer.probe.framework import is_first, session_config
from envbuilder.incontainer.probe.gpu_operations import fused
from envbuilder.incontainer.probe.placing import (
    REFERENCE,
    NotInRelease,
    differences,
    evidence,
    evidence_of,
    nodes_of,
    run_ops,
    tensor_float,
    whole,
)
from envbuilder.incontainer.probe.training import TRAINING_STEPS, data

RATE = 0.1


def training_on(tf, device):
    """Train a linear model by gradient descent on a device: return the losses, and the device of the variables."""
    return (train_session if is_first(tf) else train_eager)(tf, device)


def loss_of(tf, weights, bias, inputs, outputs):
    """Return the mean square error of a linear model."""
    return tf.reduce_mean(tf.square(tf.matmul(inputs, weights) + bias - outputs))


def course_of(values, seen):
    """Return first and last loss; only of a training on the device."""
    first, last = (float(values[0]), float(values[-1])) if seen["on_device"] else (None, None)
    return dict(seen, steps=len(values), first=first, last=last)


def train_session(tf, device):
    """Train in TensorFlow 1.x: a graph of which every operation has to run on the device."""
    with tf.Graph().as_default():
        with tf.device(device):
            inputs, outputs = [tf.constant(each) for each in data()]
            weights, bias = tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))
            loss = loss_of(tf, weights, bias, inputs, outputs)
            step = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            values = [session.run([loss, step], options=options, run_metadata=told)[0]]
            nodes = nodes_of(told.partition_graphs)
            values += [session.run([loss, step])[0] for _ in range(TRAINING_STEPS - 1)]
    return course_of(values, evidence(device, nodes, "MatMul|^Variable|ApplyGradientDescent"))


def train_eager(tf, device):
    """Train in TensorFlow 2.x: a tape and variables, without Keras."""
    with tf.device(device):
        inputs, outputs = [tf.constant(each) for each in data()]
        variables = [tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))]
        values = []
        for _ in range(TRAINING_STEPS):
            with tf.GradientTape() as tape:
                loss = loss_of(tf, variables[0], variables[1], inputs, outputs)
            for variable, slope in zip(variables, tape.gradient(loss, variables)):
                variable.assign_sub(RATE * slope)
            values.append(loss)
    seen = [evidence_of(device, each.device) for each in variables + values]
    whole_course = {
        "placed": sorted(set(each["placed"][0] for each in seen)),
        "on_device": all(each["on_device"] for each in seen),
        "operations": [],
    }
    return course_of([float(each.numpy()) for each in values], whole_course)


def compiled_on(tf, device):
    """Compile a small graph by XLA for a device, and compare it with the CPU without XLA.

    `compiled` is True if XLA really compiled it: TensorFlow 2.x has to (or raises), 1.x shows it in the graph.
    """
    inputs = [whole(96, 64), whole(64, 48)]
    values, seen = (compile_first if is_first(tf) else compile_second)(tf, device, inputs)
    absent = {"absolute": None, "relative": None, "reference": ""}
    if not (seen["on_device"] and seen["compiled"]):
        return dict(seen, tf32=tensor_float(tf), **absent)
    wanted = run_ops(tf, REFERENCE, lambda tf, *tensors: [fused(tf, *tensors)], inputs)[0]
    return dict(seen, tf32=tensor_float(tf), reference=REFERENCE, **differences(values, wanted))


def compile_second(tf, device, inputs):
    """Compile in TensorFlow 2.x: a function that must be compiled."""
    function = None
    for option in ("jit_compile", "experimental_compile"):
        try:
            function = tf.function(fused_tensors(tf), **{option: True})
            break
        except TypeError:
            continue
    if function is None:
        raise NotInRelease("this release cannot be told to compile a function")
    with tf.device(device):
        result = function(*[tf.constant(each) for each in inputs])
    return [result.numpy()], dict(evidence_of(device, result.device), compiled=True, how=option)


def fused_tensors(tf):
    """Return the small graph as a function of its inputs alone."""

    def function(left, right):
        return fused(tf, left, right)

    return function


def compile_first(tf, device, inputs):
    """Compile in TensorFlow 1.x: a scope that requests compilation; the graph shows if it was done."""
    from tensorflow.contrib.compiler import jit

    def build(tf, left, right):
        with jit.experimental_jit_scope():
            return [fused(tf, left, right)]

    values, nodes = run_ops(tf, device, build, inputs)
    kinds = sorted(set(kind for kind, _ in nodes))
    compiled = any(kind.lstrip("_") in ("XlaLaunch", "XlaRun") for kind in kinds)
    seen = evidence(device, nodes, "XlaLaunch|XlaRun" if compiled else "MatMul")
    return values, dict(seen, compiled=compiled, how="experimental_jit_scope")
