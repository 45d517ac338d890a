"""Memory of one device: allocations, refusals, and recovery from a refusal."""

import ctypes

from envbuilder.incontainer.probe.framework import is_first, session_config
from envbuilder.incontainer.probe.placing import REFERENCE, gpu_names, is_gpu, on_devices, run_ops, same_device, whole
from envbuilder.incontainer.probe.values import look, text

MIB = 1 << 20
ROW = 4 * MIB
GROWTH_BLOCK = 256 * MIB
LIMIT = 1024 * MIB
HOLES, HOLE_SHARE, LARGER_SHARE = 16, 0.05, 0.08
FILLED = 4 * ((1 << 31) - ROW)
REHEARSAL_ROOM, IMPOSSIBLE = 512 * MIB, 1 << 50


def driver_room(device):
    """Return free and total bytes of a GPU as the driver counts them, for all processes together."""
    cuda = ctypes.CDLL("libcuda.so.1")
    number, context = ctypes.c_int(0), ctypes.c_void_p()
    sizes = (ctypes.c_size_t(0), ctypes.c_size_t(0))
    expect(cuda.cuInit(0), "cuInit")
    expect(cuda.cuDeviceGet(ctypes.byref(number), int(device.rsplit(":", 1)[1])), "cuDeviceGet")
    # The primary context is the one that TensorFlow computes in: its own cost is part of the first count.
    expect(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), number), "cuDevicePrimaryCtxRetain")
    expect(cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
    try:
        expect(cuda.cuMemGetInfo_v2(ctypes.byref(sizes[0]), ctypes.byref(sizes[1])), "cuMemGetInfo")
    finally:
        cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    return {"free": sizes[0].value, "total": sizes[1].value}


def expect(code, name):
    """Raise unless a function of the driver succeeded."""
    if code != 0:
        raise RuntimeError("{0} gives {1}".format(name, code))


def room_of(device):
    """Return free and total bytes; for the CPU a fixed number, so that a rehearsal stays small."""
    return driver_room(device) if is_gpu(device) else {"free": REHEARSAL_ROOM, "total": REHEARSAL_ROOM}


class Blocks(object):
    """Blocks of memory of a device that TensorFlow holds; nothing is written into them."""

    def __init__(self, tf, device, config=None):
        self.tf, self.device, self.session = tf, device, None
        if not is_first(tf):
            return
        graph = tf.Graph()
        with graph.as_default(), tf.device(device):
            self.rows = tf.placeholder(tf.int32, [])
            self.block = tf.get_session_handle(empty(tf, [self.rows, ROW // 4]))
            if is_gpu(device):
                # These two have no kernel for the CPU.
                self.in_use, self.most = tf.contrib.memory_stats.BytesInUse(), tf.contrib.memory_stats.BytesLimit()
        self.session = tf.Session(graph=graph, config=config or session_config(tf))

    def take(self, size):
        """Allocate that many bytes, in whole rows; raise an error of TensorFlow if it refuses."""
        rows = max(1, int(size) // ROW)
        if self.session is not None:
            handle = self.session.run(self.block, {self.rows: rows})
            return self._on_device(handle, text(handle.handle).rsplit(";", 1)[1])
        with self.tf.device(self.device):
            tensor = empty(self.tf, [rows, ROW // 4])
        return self._on_device(tensor, tensor.device)

    def _on_device(self, block, place):
        if not same_device(self.device, place):
            raise RuntimeError("the block lies on {0}".format(place))
        return block

    def release(self, block):
        """Release a block; the caller keeps no other name for it in TensorFlow 2.x."""
        if self.session is not None:
            block.delete()

    def used(self):
        """Return bytes in use by TensorFlow's own count; None if it has none (2.0 to 2.4)."""
        if not is_gpu(self.device):
            return None
        if self.session is not None:
            return int(self.session.run(self.in_use))
        ask = getattr(self.tf.config.experimental, "get_memory_info", None)
        return int(ask(self.device.strip("/"))["current"]) if ask else None

    def attempt(self, size):
        """Allocate and release a block; return the result of the attempt."""
        try:
            self.release(self.take(size))
        except self.tf.errors.ResourceExhaustedError as error:
            return {"bytes": int(size), "given": False, "error": text(error).splitlines()[0]}
        return {"bytes": int(size), "given": True, "error": ""}


def empty(tf, shape):
    """Return an uninitialized block of float32 if the release supports it: filling takes time."""
    from tensorflow.python.ops import gen_array_ops

    if hasattr(gen_array_ops, "empty"):
        return gen_array_ops.empty(shape, dtype=tf.float32, init=False)
    return tf.fill(shape, 0.0)


def limit_of(tf, blocks):
    """Return the maximum bytes of TensorFlow on a device, by its own count; None if it has none."""
    if blocks.session is not None:
        return int(blocks.session.run(blocks.most)) if is_gpu(blocks.device) else None
    from tensorflow.python.client import device_lib

    found = [each.memory_limit for each in device_lib.list_local_devices() if same_device(blocks.device, each.name)]
    return int(found[0]) if found else None


def room_to_fill(blocks, held, most):
    """Return the bytes that TensorFlow could still allocate in one piece: free ones, up to its limit without its pool.

    A release that has to fill a block counts its numbers in 32 bits.
    """
    from tensorflow.python.ops import gen_array_ops

    bounds = [room_of(blocks.device)["free"]] + ([most - held] if most and is_gpu(blocks.device) else [])
    return min(bounds + ([] if hasattr(gen_array_ops, "empty") else [FILLED]))


def memory_on(tf, device):
    """Run the sequence of one process on one device, from the start to the recovery from a refusal."""
    before = room_of(device)
    blocks = Blocks(tf, device)
    blocks.release(blocks.take(ROW))
    seen = {"total": before["total"], "free": before["free"], "held_at_start": before["free"] - room_of(device)["free"]}
    block = blocks.take(GROWTH_BLOCK)
    seen["held_grown"] = before["free"] - room_of(device)["free"]
    seen["block"] = GROWTH_BLOCK
    seen["used"] = look(blocks.used)
    blocks.release(block)
    del block
    seen["limit"] = look(limit_of, tf, blocks)
    free = room_to_fill(blocks, seen["held_grown"], seen["limit"].get("value"))
    seen["room"] = free
    seen["large"] = blocks.attempt(0.9 * free)
    seen["impossible"] = blocks.attempt(2 * before["total"] if is_gpu(device) else IMPOSSIBLE)
    seen["after"] = blocks.attempt(GROWTH_BLOCK)
    seen["fragmented"] = fragmented(blocks, free)
    seen["right_after"] = right_on(tf, device)
    return seen


def fragmented(blocks, free):
    """Allocate sixteen blocks of a twentieth, release every second one, then allocate one larger than any hole."""
    held = [blocks.take(HOLE_SHARE * free) for _ in range(HOLES)]
    for index in range(0, HOLES, 2):
        blocks.release(held[index])
        held[index] = None
    larger = blocks.attempt(LARGER_SHARE * free)
    for block in held[1::2]:
        blocks.release(block)
    return larger


def right_on(tf, device):
    """Return True if a matrix product on the device is still right."""
    import numpy

    def build(tf, left, right):
        return [tf.matmul(left, right)]

    inputs = [whole(96, 64), whole(64, 48)]
    results = [run_ops(tf, place, build, inputs)[0][0] for place in (device, REFERENCE)]
    return bool(numpy.array_equal(results[0], results[1]))


def limited_on(tf, device):
    """Run a process with a limit of one GiB: an eighth of it is allocated, twice its size is refused."""
    blocks = Blocks(tf, device, limited_session(tf) if is_first(tf) else None)
    return {"limit": LIMIT, "small": blocks.attempt(LIMIT // 8), "beyond": blocks.attempt(2 * LIMIT)}


def limited_session(tf):
    """Return a configuration for TensorFlow 1.x, where the limit is a share of the total, of the first GPU for all."""
    config = session_config(tf)
    config.gpu_options.per_process_gpu_memory_fraction = float(LIMIT) / driver_room("/GPU:0")["total"]
    return config


def limit_all(tf):
    """Set the limit of TensorFlow 2.x in MiB for each device, before anything else."""
    config = tf.config.experimental
    for each in config.list_physical_devices("GPU"):
        config.set_virtual_device_configuration(each, [config.VirtualDeviceConfiguration(memory_limit=LIMIT // MIB)])


def memory_course():
    """Run the sequence of this process on every GPU, one after the other."""
    import tensorflow as tf

    names = session_gpus(tf, session_config(tf)) if is_first(tf) else gpu_names()
    return {"gpus": on_devices(memory_on, names)}


def memory_limit():
    """Return the effect of a limit on every GPU; in a process of its own, because a limit is set once."""
    import tensorflow as tf

    if not gpu_there():
        return {"gpus": []}
    if is_first(tf):
        return {"gpus": on_devices(limited_on, session_gpus(tf, limited_session(tf)))}
    limit_all(tf)
    return {"gpus": on_devices(limited_on, gpu_names())}


def gpu_there():
    """Return True if the driver has memory of a GPU; asking TensorFlow 1.x would fix its memory for good."""
    try:
        driver_room("/GPU:0")
    except (OSError, RuntimeError):
        return False
    return True


def session_gpus(tf, config):
    """Return the GPUs of TensorFlow 1.x by a session, whose configuration holds for the memory of the whole process."""
    with tf.Session(graph=tf.Graph(), config=config) as session:
        names = [each.name for each in session.list_devices() if each.device_type == "GPU"]
    return ["/GPU:{0}".format(index) for index in range(len(names))]


def part_memory(request, report, only):
    """Child: one of the steps about memory, alone in its process."""
    steps = {"gpu-memory": memory_course, "gpu-memory-limit": memory_limit}
    for name in only:
        report(name, steps[name])
