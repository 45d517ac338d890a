"""The memory policy in force, and the configuration that TensorFlow received."""

import os
import sys

from envbuilder.incontainer.probe.framework import is_first


def memory_policy():
    """Return the requested policy, the state of the hook, and the GPU memory settings that TensorFlow received.

    Without the hook TensorFlow is not asked: a session of 1.x with its defaults would take all memory.
    """
    import tensorflow as tf

    hook = sys.modules.get("envbuilder_memory")
    fact = {
        "variable": os.environ.get("ENVBUILDER_MEMORY", ""),
        "hook": hook is not None,
        "patched": list(getattr(hook, "PATCHED", [])),
        "force_growth": os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", ""),
        "allocator": os.environ.get("TF_GPU_ALLOCATOR", ""),
        "received": None,
    }
    if hook is not None:
        fact["received"] = received_first(tf) if is_first(tf) else received_second()
    return fact


def received_first(tf):
    """Return the settings of a session without settings of its own; TensorFlow 1.x."""
    with tf.Graph().as_default():
        with tf.Session() as session:
            listed = session.list_devices() if hasattr(session, "list_devices") else []
            return gpu_options(session._config.gpu_options, [each for each in listed if each.device_type == "GPU"])


def received_second():
    """Return the settings of the eager context; TensorFlow 2.x."""
    from tensorflow.python.eager import context

    return gpu_options(context.context().config.gpu_options, context.context().list_physical_devices("GPU"))


def gpu_options(options, gpus):
    """Return the fields about memory; one entry of `limits` for each GPU, in MiB, 0 for a GPU without a limit."""
    experimental = getattr(options, "experimental", None)
    virtual = getattr(experimental, "virtual_devices", ())
    return {
        "gpus": len(gpus),
        "growth": bool(options.allow_growth),
        "fraction": float(options.per_process_gpu_memory_fraction),
        "limits": [sum(int(limit) for limit in device.memory_limit_mb) for device in virtual],
    }
