"""The work for GPUs rehearsed on the CPU, under separate names: proof that the code runs, never of a GPU."""

from envbuilder.incontainer.probe.children import Steps
from envbuilder.incontainer.probe.framework import is_first
from envbuilder.incontainer.probe.gpu_memory import memory_on
from envbuilder.incontainer.probe.gpu_operations import function_on, mixed_on, operations_on
from envbuilder.incontainer.probe.gpu_speed import first_kernels, latency_on, throughput_on
from envbuilder.incontainer.probe.gpu_together import all_reduce_on
from envbuilder.incontainer.probe.gpu_training import compiled_on, training_on
from envbuilder.incontainer.probe.placing import on_devices

REHEARSAL_LIMIT = 600
STAND_INS = ("/CPU:0", "/CPU:1")
REHEARSED = (
    ("first", first_kernels),
    ("operations", operations_on),
    ("training", training_on),
    ("function", function_on),
    ("xla", compiled_on),
    ("mixed", mixed_on),
    ("latency", latency_on),
    ("throughput", throughput_on),
    ("memory", memory_on),
    ("all-reduce", None),
)


def rehearse(path):
    """Return all facts of the rehearsal, named rehearsal-...."""
    names = ["rehearsal-" + name for name, _ in REHEARSED]
    return Steps("rehearsal", path, names, {}, REHEARSAL_LIMIT).run()


def part_rehearsal(request, report, only):
    """Child: the work of every step on the CPU, and the sum over two devices in TensorFlow 2.x."""
    import tensorflow as tf

    split_cpu(tf)
    for name, work in REHEARSED:
        if "rehearsal-" + name not in only:
            continue
        if work is None:
            report("rehearsal-" + name, all_reduce_on, STAND_INS)
        else:
            report("rehearsal-" + name, on_devices, work, STAND_INS[:1])


def split_cpu(tf):
    """Make two devices of the CPU of TensorFlow 2.x; sums of NCCL in 1.x need GPUs."""
    if is_first(tf):
        return
    config = tf.config.experimental
    halves = [config.VirtualDeviceConfiguration(), config.VirtualDeviceConfiguration()]
    config.set_virtual_device_configuration(config.list_physical_devices("CPU")[0], halves)
