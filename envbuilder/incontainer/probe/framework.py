"""TensorFlow: import, build, devices."""

import os


def imported():
    """Import TensorFlow and describe the imported module."""
    import tensorflow as tf

    import numpy

    return {
        "version": getattr(tf, "__version__", None) or tf.VERSION,
        "git_version": git_version(tf),
        "numpy": numpy.__version__,
        "path": os.path.dirname(tf.__file__ or ""),
    }


def git_version(tf):
    """Return the commit that the wheel was built from; empty if unknown."""
    for name in ("__git_version__", "GIT_VERSION"):
        if hasattr(tf, name):
            return getattr(tf, name)
    version = getattr(tf, "version", None)
    return getattr(version, "GIT_VERSION", "")


def is_first(tf):
    """Return True for TensorFlow 1.x."""
    return tf.__version__.startswith("1.")


def build_info(tf):
    """Return the build properties of the wheel: 2.3 and later by a function, before that by a module, if at all."""
    if hasattr(getattr(tf, "sysconfig", None), "get_build_info"):
        return dict(tf.sysconfig.get_build_info())
    try:
        from tensorflow.python.platform import build_info as module
    except ImportError:
        return {}
    known = dict((name, getattr(module, name)) for name in dir(module) if not name.startswith("_"))
    return dict((name, value) for name, value in known.items() if isinstance(value, (bool, str, int)))


def build():
    """Return the properties of the build."""
    import tensorflow as tf

    return {"cuda": bool(tf.test.is_built_with_cuda()), "info": build_info(tf)}


def session_config(tf):
    """Return a session configuration that allocates GPU memory as needed and refuses to move work to another device."""
    config = tf.ConfigProto(allow_soft_placement=False)
    config.gpu_options.allow_growth = True
    return config


def devices():
    """Return the devices that TensorFlow sees, each with name, type and description, in its order."""
    import tensorflow as tf

    if is_first(tf):
        from tensorflow.python.client import device_lib

        try:
            listed = device_lib.list_local_devices(session_config(tf))
        except TypeError:
            # Up to 1.7 the function takes no configuration.
            listed = device_lib.list_local_devices()
        return [
            {"name": item.name, "type": item.device_type, "description": item.physical_device_desc} for item in listed
        ]
    listing = getattr(tf.config, "list_physical_devices", None) or tf.config.experimental.list_physical_devices
    return [{"name": item.name, "type": item.device_type, "description": details(tf, item)} for item in listing()]


def details(tf, device):
    """Return name and compute capability of a GPU, if TensorFlow has a function for it (2.4 and later)."""
    ask = getattr(tf.config.experimental, "get_device_details", None)
    if ask is None or device.device_type != "GPU":
        return ""
    known = ask(device)
    capability = ".".join(str(part) for part in known.get("compute_capability") or ())
    return "{0}, compute capability {1}".format(known.get("device_name", ""), capability)
