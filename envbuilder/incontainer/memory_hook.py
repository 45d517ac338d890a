"""Apply the memory policy of an image to TensorFlow 1.4 to 2.21, without changes to the program.

One line of a .pth file runs the part above the mark at the start of the interpreter, and only when the environment
variable ENVBUILDER_MEMORY names another policy than `all`. The rest is compiled when TensorFlow is imported. Standard
library only; syntax of CPython 2.7 and 3.5 to 3.13, for images of all ages.

GPU memory settings of the program itself take precedence: only missing settings are made. A policy that
cannot be applied is a RuntimeError. Nothing is initialized before TensorFlow does it, so that a fork after
the import works as before.
"""

import sys


class Waiting(object):
    """Waits for the first import of TensorFlow: compiling all of this file at every start would take milliseconds."""

    is_memory_hook = True

    def find_spec(self, name, path=None, target=None):
        """Return the watched spec of TensorFlow; None for any other module."""
        if name != "tensorflow":
            return None
        whole = type(sys)("envbuilder_memory")
        whole.__file__ = __file__
        sys.modules[whole.__name__] = whole
        with open(__file__, "rb") as source:
            eval(compile(source.read(), __file__, "exec"), whole.__dict__)
        watching = whole.Watching()
        sys.meta_path[sys.meta_path.index(self)] = watching
        return watching.find_spec(name, path, target)


# If lib64 is a link to lib, the interpreter reads a .pth file twice.
if __name__ == "envbuilder_memory_start" and not any(hasattr(each, "is_memory_hook") for each in sys.meta_path):
    sys.meta_path.insert(0, Waiting())

# --- the rest is compiled when TensorFlow is imported ---

import ctypes  # noqa: E402
import functools  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402

VARIABLE = "ENVBUILDER_MEMORY"
MIB = 1 << 20
LEAST = 256 * MIB
UNITS = {"GiB": 1 << 30, "GB": 10**9, "MiB": MIB, "MB": 10**6, "KiB": 1 << 10, "": 1}
FORCE_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
ALLOCATOR = "TF_GPU_ALLOCATOR"
ASYNC_SINCE = (2, 6)

POLICY = []  # (way, amount) for all GPUs, or for each one
PATCHED = []  # modules of TensorFlow that were changed, in the order of their import
EXPORTED = []  # environment variables that were set here


def refusal(problem):
    """Return the error for a policy that cannot be applied."""
    message = "the memory policy {0!r} ({1}) cannot be applied: {2}. {1}=all leaves GPU memory to TensorFlow"
    return RuntimeError(message.format(str(os.environ.get(VARIABLE, "all")), VARIABLE, problem))


# --- the policy


def parsed(text):
    """Parse the variable: one `(way, amount)` for all GPUs or for each one; amounts are shares or bytes."""
    policy = [parsed_one(part.strip()) for part in text.split(",")]
    ways = [way for way, _ in policy]
    if "async-allocator" in ways and len(ways) > 1:
        raise refusal("async-allocator holds for all GPUs of a process, it has to stand alone")
    if "all" in ways and "growth" in ways:
        raise refusal("all and growth exclude each other, TensorFlow has one switch for growth")
    return policy


def parsed_one(text):
    """Return the value of one entry."""
    if text in ("all", "growth", "async-allocator"):
        return (text, None)
    way, _, amount = text.partition(":")
    if way == "fraction" and re.match(r"[01](\.[0-9]{1,9})?$", amount) and 0 < float(amount) <= 1:
        return (way, float(amount))
    size = re.match(r"([0-9]{1,19})(GiB|GB|MiB|MB|KiB|)$", amount)
    if way == "limit" and size and int(size.group(1)) * UNITS[size.group(2)] >= LEAST:
        return (way, int(size.group(1)) * UNITS[size.group(2)])
    raise refusal("{0!r} is none of all, growth, fraction:0.8, limit:4GiB (at least 256MiB), async-allocator".format(text))


def grows():
    """Return True if memory is allocated as needed."""
    return any(way == "growth" for way, _ in POLICY)


def has_amounts():
    """Return True if the policy states amounts of memory."""
    return any(amount is not None for _, amount in POLICY)


# --- the GPUs


def totals():
    """Return the bytes of every GPU that this process may use, in CUDA's order; empty without driver or GPU.

    It initializes the driver: only for a process that is about to do so itself.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, device, size = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_size_t(0)
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for index in range(count.value):
        if cuda.cuDeviceGet(ctypes.byref(device), index) or cuda.cuDeviceTotalMem_v2(ctypes.byref(size), device):
            raise refusal("the driver does not say how much memory GPU {0} has".format(index))
        found.append(size.value)
    return found


def known_gpus(context):
    """Return the number of GPUs of TensorFlow, from TensorFlow if possible (1.14 and later), else from the driver."""
    listed = getattr(context, "list_physical_devices", None)
    return len(totals()) if listed is None else len(listed("GPU"))


def visible(config, count):
    """Return ordinals of the GPUs that a configuration uses, and True if `device_count` leaves out some of them."""
    ordinals = list(range(count))
    if config.gpu_options.visible_device_list:
        ordinals = [int(each) for each in config.gpu_options.visible_device_list.split(",")]
    most = config.device_count["GPU"] if "GPU" in config.device_count else len(ordinals)
    if most <= 0 or any(each >= count for each in ordinals):
        return [], False
    return ordinals, most < len(ordinals)


# --- the configuration


def virtual_devices(options):
    """Return the list of virtual devices of GPU options; None if the release has none."""
    return getattr(getattr(options, "experimental", None), "virtual_devices", None)


def complete(config, count, growth_is_decided=False):
    """Put the policy into the unset fields of a ConfigProto.

    Arguments: the configuration, a function that counts GPUs, and True if the program decided about growth.
    """
    options = config.gpu_options
    if grows() and not growth_is_decided:
        options.allow_growth = True
    if not has_amounts() or options.per_process_gpu_memory_fraction or virtual_devices(options):
        return config
    if len(POLICY) == 1 and POLICY[0][0] == "fraction":
        options.per_process_gpu_memory_fraction = POLICY[0][1]
        return config
    ordinals, cut = visible(config, count())
    if ordinals:
        limit_each(options, ordinals, cut)
    return config


def limit_each(options, ordinals, cut):
    """Give each GPU its own limit, or all of them one share if the release supports nothing else."""
    sizes = totals()
    limits = [limit_of(ordinal, sizes) for ordinal in ordinals]
    devices = virtual_devices(options)
    if devices is None or cut:
        options.per_process_gpu_memory_fraction = common_share(ordinals, limits, sizes)
        return
    for limit in limits:
        # Megabytes of 2**20 bytes each; a whole GPU has no entry.
        devices.add().memory_limit_mb.extend([] if limit is None else [limit // MIB])


def limit_of(ordinal, sizes):
    """Return the bytes for one GPU; None for all of its memory."""
    if len(POLICY) > 1 and ordinal >= len(POLICY):
        raise refusal("it names {0} GPUs, and this process uses GPU {1}".format(len(POLICY), ordinal))
    way, amount = POLICY[ordinal if len(POLICY) > 1 else 0]
    if way == "limit" and ordinal < len(sizes) and amount > sizes[ordinal]:
        raise refusal("GPU {0} has only {1} MiB".format(ordinal, sizes[ordinal] // MIB))
    if way == "fraction" and ordinal >= len(sizes):
        raise refusal("the driver does not say how much memory GPU {0} has".format(ordinal))
    return int(amount * sizes[ordinal]) if way == "fraction" else amount


def common_share(ordinals, limits, sizes):
    """Return the one share of every GPU that keeps each below its limit."""
    if any(ordinal >= len(sizes) for ordinal in ordinals):
        raise refusal("the driver does not say how much memory the GPUs have")
    shares = [1.0 if limit is None else float(limit) / sizes[at] for at, limit in zip(ordinals, limits)]
    if len(POLICY) > 1 and len(set(shares)) > 1:
        raise refusal("here TensorFlow has one setting for all GPUs")
    return min(shares)


# --- the modules of TensorFlow


def patch_session(module):
    """Patch sessions: tf.Session, Keras and Estimator use this class."""
    context = sys.modules.get(module.__name__.replace(".client.session", ".eager.context"))
    original = module.BaseSession.__init__

    @functools.wraps(original)
    def begin(self, target="", graph=None, config=None):
        asks_context = config is None and hasattr(getattr(context, "Context", None), "config")
        is_config = config is None or isinstance(config, module.config_pb2.ConfigProto)
        if not target and is_config and not asks_context:
            config = completed(module, config)
        original(self, target, graph, config)

    module.BaseSession.__init__ = begin


def completed(module, config):
    """Return a copy of a session's configuration with the policy in it."""
    made = module.config_pb2.ConfigProto()
    if config is not None:
        made.CopyFrom(config)
    return complete(made, functools.partial(count_for, module))


def count_for(module):
    """Return the number of GPUs of this process, for a session."""
    name = re.sub(r"\.python\..*", ".python.eager.context", module.__name__)
    context = sys.modules.get(name)
    if hasattr(getattr(context, "Context", None), "list_physical_devices"):
        return known_gpus(context.context())
    return len(totals())


def patch_context(module):
    """Patch eager execution: the configuration is computed when the first GPU is used (1.14 and later)."""
    original = getattr(module.Context, "config", None)
    if isinstance(original, property):

        def config(self):
            made = original.fget(self)
            decided = set((getattr(self, "_memory_growth_map", None) or {}).values()) - set([None])
            if decided == set([False]) and FORCE_GROWTH in EXPORTED:
                # The program wants no growth, and this variable would override it.
                os.environ.pop(FORCE_GROWTH, None)
            return complete(made, functools.partial(known_gpus, self), bool(decided))

        module.Context.config = property(config, doc=original.__doc__)
        return
    patch_old_context(module)


def patch_old_context(module):
    """Patch eager execution before 1.14: the configuration is used unchanged."""
    original = getattr(module.Context, "_initialize_handle_and_devices", None)
    if original is None:
        raise refusal("this release of TensorFlow computes its configuration in an unknown way")

    @functools.wraps(original)
    def initialize(self):
        from tensorflow.core.protobuf import config_pb2

        made = config_pb2.ConfigProto()
        if self._config is not None:
            made.CopyFrom(self._config)
        self._config = complete(made, lambda: len(totals()))
        return original(self)

    module.Context._initialize_handle_and_devices = initialize


def patch_device_lib(module):
    """Patch the listing of devices, which allocates their memory, by the first settings in a process."""
    original = module.list_local_devices

    @functools.wraps(original)
    def list_local_devices(session_config=None):
        from tensorflow.python.client import session

        if takes_config:
            return original(completed(session, session_config))
        session.Session().close()
        return original()

    takes_config = "session_config" in original.__code__.co_varnames
    module.list_local_devices = list_local_devices


def patch_server_lib(module):
    """Patch the server of a cluster: its default configuration creates the devices."""
    original = module.Server.__init__

    @functools.wraps(original)
    def begin(self, server, job_name=None, task_index=None, protocol=None, config=None, start=True):
        from tensorflow.python.client import session

        own = getattr(server, "default_session_config", None)
        if config is not None or own is None:
            own = config
        original(self, server, job_name, task_index, protocol, completed(session, own), start)

    module.Server.__init__ = begin


def before_tensorflow():
    """Read the policy, and set the variables that TensorFlow itself reads, unless they are set."""
    POLICY[:] = parsed(os.environ.get(VARIABLE) or "all")
    if grows():
        export(FORCE_GROWTH, "true")
    if POLICY[0][0] == "async-allocator":
        export(ALLOCATOR, "cuda_malloc_async")


def export(name, value):
    """Set an environment variable that is not set."""
    if name not in os.environ:
        os.environ[name] = value
        EXPORTED.append(name)


def after_tensorflow(module):
    """Raise the refusal if this release does not support the policy."""
    version = [int(part) for part in re.findall(r"\d+", getattr(module, "__version__", ""))[:2]]
    if POLICY[0][0] == "async-allocator" and version < list(ASYNC_SINCE):
        raise refusal("TensorFlow {0} has no asynchronous allocator that works, 2.6 and later have".format(module.__version__))
    needed = ".client.session" if version < [2] else ".eager.context"
    if not any(name.endswith(needed) for name in PATCHED):
        raise refusal("this release of TensorFlow has no module *{0}".format(needed))


PATCHES = {
    "tensorflow": after_tensorflow,
    "tensorflow.python.client.session": patch_session,
    "tensorflow.python.eager.context": patch_context,
    "tensorflow.python.client.device_lib": patch_device_lib,
    "tensorflow.python.training.server_lib": patch_server_lib,
}


class Watching(object):
    """Finds modules with the default finders, and patches some of TensorFlow's right after they ran."""

    is_memory_hook = True

    def find_spec(self, name, path=None, target=None):
        """Return the spec of a watched module; None for any other."""
        # 1.15 to 2.1 have their modules in a second package.
        patch = PATCHES.get(name.replace("tensorflow_core.", "tensorflow.", 1))
        if patch is None:
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not self and hasattr(finder, "find_spec"))
        spec = next((found for found in (finder.find_spec(name, path, target) for finder in others) if found), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            watch(spec.loader, name, patch)
        return spec


def watch(loader, name, patch):
    """Make a loader patch the loaded module."""
    run = loader.exec_module

    def exec_module(module):
        if module.__name__ != name:
            return run(module)
        if name == "tensorflow":
            before_tensorflow()
        run(module)
        patch(module)
        PATCHED.append(name)

    loader.exec_module = exec_module
