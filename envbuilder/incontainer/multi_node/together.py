"""What the workers compute together in TensorFlow, and the same by one worker."""

import json
import os
import time

from envbuilder.incontainer.multi_node.rendezvous import in_background
from envbuilder.incontainer.probe.values import CLOCK

SIZES = (1 << 12, 1 << 20, 1 << 24)  # bytes of an all-reduce
REPEATS = 5
ROWS = 16  # of the batch of each worker
TRAINING_STEPS = 20
RATE = 0.1


def strategy(keep):
    """Form the cluster; return its size and the devices of this worker."""
    import tensorflow as tf

    if hasattr(tf, "__version__") and tf.__version__.startswith("1."):
        tf.compat.v1.enable_eager_execution()
    make = getattr(tf.distribute, "MultiWorkerMirroredStrategy", None)
    if make is None:
        # Experimental up to 2.3.
        make = tf.distribute.experimental.MultiWorkerMirroredStrategy
    formed = make()
    keep["tf"], keep["strategy"] = tf, formed
    keep["run"] = getattr(formed, "run", None) or formed.experimental_run_v2
    config = json.loads(os.environ["TF_CONFIG"])
    keep["workers"] = sum(len(config["cluster"].get(kind, [])) for kind in ("chief", "worker"))
    keep["index"] = int(os.environ["ENVBUILDER_WORKER"])
    return {
        "version": tf.__version__,
        "replicas": int(formed.num_replicas_in_sync),
        "devices": [str(device) for device in formed.extended.worker_devices],
    }


def summation(keep):
    """Return a function that sums an array over all replicas."""
    tf = keep["tf"]

    def summed(value):
        # The identity has a device in this replica, which an argument of a function does not have.
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(value))

    @tf.function
    def total(value):
        return keep["run"](summed, args=(value,))

    def numbers(value):
        result = total(value)
        parts = getattr(result, "values", None)
        return (parts[0] if parts else result).numpy()

    return numbers


def all_reduce(keep):
    """Sum known numbers over all workers; return who took part, and for each size whether the sum is exact, and times."""
    import numpy

    tf, total = keep["tf"], summation(keep)
    own = numpy.zeros(keep["workers"], dtype="float32")
    own[keep["index"]] = 1.0
    keep["replicas"] = [int(number) for number in total(tf.constant(own))]
    weight = sum((number + 1) * count for number, count in enumerate(keep["replicas"]))
    sizes = []
    for size in SIZES:
        pattern = numpy.arange(size // 4) % 7
        value = tf.constant((pattern * (keep["index"] + 1)).astype("float32"))
        wrong, seconds = 0, []
        total(value)
        for _ in range(REPEATS):
            started = CLOCK()
            found = total(value)
            seconds.append(round(CLOCK() - started, 6))
            wrong += int((found != pattern * weight).sum())
        sizes.append({"bytes": size, "wrong": wrong, "seconds": seconds})
    return {"replicas": keep["replicas"], "sizes": sizes}


def batch(workers):
    """Return the whole batch: inputs and outputs of a linear function, the same in every worker."""
    import numpy

    rows = workers * ROWS
    inputs = (numpy.arange(rows * 4) * 37 % 101).reshape(rows, 4).astype("float32") / 101
    outputs = (inputs * numpy.array([1.0, -2.0, 0.5, 3.0], dtype="float32")).sum(axis=1) + 0.25
    return inputs, outputs.astype("float32")


def new_variables(tf, start, **more):
    """Return the weights of the model; `start` is the initial value of each."""
    import numpy

    return [
        tf.Variable(numpy.full((4,), start, "float32"), **more),
        tf.Variable(numpy.zeros((1,), "float32"), **more),
    ]


def gradients(tf, variables, inputs, outputs, shares):
    """Return loss and gradients; without matrix products, which some GPUs round to fewer digits."""
    with tf.GradientTape() as tape:
        predicted = tf.reduce_sum(inputs * variables[0], axis=1) + variables[1]
        loss = tf.reduce_sum(shares * tf.square(predicted - outputs))
    return loss, tape.gradient(loss, variables)


def flat(variables):
    """Return the numbers of all variables in one list."""
    return [float(number) for each in variables for number in each.read_value().numpy().ravel()]


def one_worker(keep):
    """Train on the whole batch without the other workers; return the weights."""
    import numpy

    tf = keep["tf"]
    inputs, outputs = batch(keep["workers"])
    counts = keep["replicas"]
    shares = numpy.repeat(numpy.array(counts, dtype="float32") / sum(counts), ROWS) / ROWS
    values = [tf.constant(each) for each in (inputs, outputs, shares.astype("float32"))]
    variables = new_variables(tf, 1.0)

    @tf.function
    def step():
        loss, changes = gradients(tf, variables, *values)
        for variable, change in zip(variables, changes):
            variable.assign_sub(RATE * change)
        return loss

    losses = [float(step().numpy()) for _ in range(TRAINING_STEPS)]
    return {"values": flat(variables), "first": losses[0], "last": losses[-1]}


def training(keep):
    """Train with all workers, each on its part of the batch; return the weights that this worker has at the end.

    Each worker starts with other weights: the strategy has to give all of them those of worker 0.
    """
    import numpy

    tf, index = keep["tf"], keep["index"]
    inputs, outputs = (each[index * ROWS : (index + 1) * ROWS] for each in batch(keep["workers"]))
    values = tuple(tf.constant(each) for each in (inputs, outputs, numpy.full((ROWS,), 1.0 / ROWS, "float32")))
    with keep["strategy"].scope():
        variables = new_variables(tf, 1.0 + index, aggregation=tf.VariableAggregation.MEAN)

    def step(*parts):
        changes = gradients(tf, variables, *parts)[1]
        for variable, change in zip(variables, changes):
            # The strategy replaces the change by its mean over all replicas.
            variable.assign_sub(RATE * change)

    @tf.function
    def together():
        keep["run"](step, args=values)

    seconds = []
    for _ in range(TRAINING_STEPS):
        started = CLOCK()
        together()
        seconds.append(round(CLOCK() - started, 6))
    return {"values": flat(variables), "steps": TRAINING_STEPS, "seconds": seconds}


STEPS = (
    ("strategy", strategy),
    ("all-reduce", all_reduce),
    ("one-worker", one_worker),
    ("training", training),
)


def end_with_parent(parent):
    """End this process when its parent is gone: nobody else stops a TensorFlow that waits for other workers."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def part_together(report):
    """Child: everything in TensorFlow, up to a step without a result; return whether all had one."""
    in_background(end_with_parent, os.getppid())
    keep = {}
    return all(report(name, function, keep) for name, function in STEPS)
