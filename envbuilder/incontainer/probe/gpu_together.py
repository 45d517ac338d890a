"""Several devices together: a sum over all of them."""

import re

from envbuilder.incontainer.probe.framework import is_first, session_config
from envbuilder.incontainer.probe.machine import shared_memory
from envbuilder.incontainer.probe.placing import gpu_names, nodes_of, same_device

LENGTH = 1024
SUMS = "Nccl|CollectiveReduce"


def all_reduce():
    """Sum one vector of each GPU over all GPUs; with one GPU there is nothing to sum."""
    return all_reduce_on(gpu_names())


def all_reduce_on(names):
    """Return the sum on each of the devices: least and largest number of the vector."""
    import tensorflow as tf

    seen = {"devices": len(names), "shm": shared_memory(), "how": "", "expected": None, "replicas": []}
    if len(names) < 2:
        return seen
    how, replicas = (reduce_first if is_first(tf) else reduce_second)(tf, names)
    expected = float(sum(range(1, len(names) + 1)))
    return dict(seen, how=how, expected=expected, replicas=replicas)


def replica_of(asked, places, values):
    """Return the vector of one device; numbers only if that device computed or holds them."""
    there = any(same_device(asked, place) for place in places)
    least, largest = (float(values.min()), float(values.max())) if there else (None, None)
    return {"asked": asked, "placed": sorted(set(places)), "on_device": there, "least": least, "largest": largest}


def reduce_second(tf, names):
    """Run TensorFlow 2.x: MirroredStrategy; the graph has the operations."""
    from tensorflow.python.eager import context as eager

    strategy = tf.distribute.MirroredStrategy(devices=names)

    def step():
        context = tf.distribute.get_replica_context()
        value = tf.fill([LENGTH], tf.cast(context.replica_id_in_sync_group + 1, tf.float32))
        return context.all_reduce(tf.distribute.ReduceOp.SUM, value)

    run = getattr(strategy, "run", None) or strategy.experimental_run_v2
    eager.enable_run_metadata()
    try:
        results = strategy.experimental_local_results(tf.function(lambda: run(step))())
        nodes = nodes_of(eager.export_run_metadata().partition_graphs)
    finally:
        eager.disable_run_metadata()
    sums = [(kind, place) for kind, place in nodes if re.search(SUMS, kind)]
    how = "MirroredStrategy: " + ", ".join(sorted(set(kind for kind, _ in sums)) or ["copies"])
    return how, [
        replica_of(asked, [each.device] + [place for _, place in sums if same_device(asked, place)], each.numpy())
        for asked, each in zip(names, results)
    ]


def reduce_first(tf, names):
    """Run TensorFlow 1.x: the sum of NCCL as an operation."""
    try:
        from tensorflow.contrib.nccl import all_sum
    except ImportError:
        from tensorflow.python.ops.nccl_ops import all_sum
    with tf.Graph().as_default():
        parts = []
        for index, name in enumerate(names):
            with tf.device(name):
                parts.append(tf.fill([LENGTH], float(index + 1)))
        sums = all_sum(parts)
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        with tf.Session(config=session_config(tf)) as session:
            values = session.run(sums, options=options, run_metadata=told)
    places = [place for kind, place in nodes_of(told.partition_graphs) if re.search(SUMS, kind)]
    return "NCCL", [
        replica_of(asked, [place for place in places if same_device(asked, place)], value)
        for asked, value in zip(names, values)
    ]
