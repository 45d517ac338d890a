"""Facts of NVIDIA's management library about the GPUs; needs neither CUDA nor root."""

import ctypes
import os

from envbuilder.incontainer.probe.children import run_part
from envbuilder.incontainer.probe.libraries import loaded_path
from envbuilder.incontainer.probe.values import text

NVML_LIMIT = 60
NVML_OK, NVML_TOO_SMALL = 0, 7
NVML_SWITCH = {0: "off", 1: "on"}
NVML_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
NVML_UNKNOWN = (1 << 64) - 1


class NvmlMemory(ctypes.Structure):
    """nvmlMemory_t: `free` excludes the memory that the driver reserves; `used` includes it."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class NvmlMemoryV2(ctypes.Structure):
    """nvmlMemory_v2_t, from driver 510 on: the memory that the driver reserves has a field of its own."""

    _fields_ = [("version", ctypes.c_uint)] + [
        (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")
    ]


class NvmlProcess(ctypes.Structure):
    """nvmlProcessInfo_v2_t: its layout has not changed since driver 450, unlike that of v3."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class NvmlProcessV1(ctypes.Structure):
    """nvmlProcessInfo_v1_t, all that drivers before 450 have."""

    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong)]


class NvmlPci(ctypes.Structure):
    """nvmlPciInfo_t of version 3."""

    _fields_ = (
        [("legacy", ctypes.c_char * 16)]
        + [(name, ctypes.c_uint) for name in ("domain", "bus", "device", "id", "subsystem")]
        + [("bus_id", ctypes.c_char * 32)]
    )


class NvmlFailed(RuntimeError):
    """Another result than success of a function of NVML."""


class Nvml(object):
    """The opened library."""

    def __init__(self, library):
        self.library = library
        library.nvmlErrorString.restype = ctypes.c_char_p

    def code(self, names, *arguments):
        """Return the result of the first of these functions that the library has."""
        for name in names:
            if hasattr(self.library, name):
                return getattr(self.library, name)(*arguments)
        raise NvmlFailed("this driver has no " + names[-1])

    def call(self, *names_and_arguments):
        """Call a function, or the first existing one of a tuple; raise an error for a result other than success."""
        names, arguments = names_and_arguments[0], names_and_arguments[1:]
        code = self.code(names if isinstance(names, tuple) else (names,), *arguments)
        if code != NVML_OK:
            raise NvmlFailed(self.explain(code))

    def explain(self, code):
        """Return a result in words."""
        return "{0} {1}".format(code, text(self.library.nvmlErrorString(code) or b""))

    def words(self, name, *arguments):
        """Return the text that a function writes into a buffer."""
        buffer = ctypes.create_string_buffer(96)
        self.call(name, *(arguments + (buffer, 96)))
        return buffer.value

    def number(self, names, *arguments):
        """Return the number that a function writes."""
        value = ctypes.c_uint(0)
        self.call(names, *(arguments + (ctypes.byref(value),)))
        return value.value

    def current(self, name, device):
        """Return the current state of a mode, such as `on`; the one after the next reset is ignored."""
        now, later = ctypes.c_uint(0), ctypes.c_uint(0)
        self.call(name, device, ctypes.byref(now), ctypes.byref(later))
        return NVML_SWITCH.get(now.value, text(now.value))


def nvml_memory(nvml, device):
    """Return bytes: total, used, free, and reserved by the driver (None: unknown, it counts as used)."""
    told = NvmlMemoryV2(version=ctypes.sizeof(NvmlMemoryV2) | 2 << 24)
    if hasattr(nvml.library, "nvmlDeviceGetMemoryInfo_v2"):
        if nvml.library.nvmlDeviceGetMemoryInfo_v2(device, ctypes.byref(told)) == NVML_OK:
            return {"total": told.total, "used": told.used, "free": told.free, "reserved": told.reserved}
    told = NvmlMemory()
    nvml.call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(told))
    return {"total": told.total, "used": told.used, "free": told.free, "reserved": None}


def nvml_running(nvml, device, kind):
    """Return processes of one kind, `Compute` or `Graphics`: pid to bytes (None: not reported by the driver)."""
    name = "nvmlDeviceGet{0}RunningProcesses".format(kind)
    form, function = (NvmlProcess, name + "_v2") if hasattr(nvml.library, name + "_v2") else (NvmlProcessV1, name)
    count = ctypes.c_uint(0)
    code = nvml.code((function,), device, ctypes.byref(count), None)
    if code == NVML_OK:
        return {}
    if code != NVML_TOO_SMALL:
        raise NvmlFailed(nvml.explain(code))
    # Room for processes that start in between.
    count = ctypes.c_uint(count.value + 16)
    entries = (form * count.value)()
    nvml.call(function, device, ctypes.byref(count), entries)
    return dict(
        (entry.pid, None if entry.memory == NVML_UNKNOWN else entry.memory) for entry in entries[: count.value]
    )


def nvml_processes(nvml, device):
    """Return all processes that hold memory, by pid; in a container they are those of the host or none."""
    both = nvml_running(nvml, device, "Graphics")
    both.update(nvml_running(nvml, device, "Compute"))
    return [{"pid": pid, "memory": both[pid]} for pid in sorted(both)]


def nvml_bus(nvml, device):
    """Return the address on the PCI bus, such as 00000000:3B:00.0."""
    told = NvmlPci()
    nvml.call("nvmlDeviceGetPciInfo_v3", device, ctypes.byref(told))
    return told.bus_id


def nvml_capability(nvml, device):
    """Return the compute capability, such as 9.0."""
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    nvml.call("nvmlDeviceGetCudaComputeCapability", device, ctypes.byref(major), ctypes.byref(minor))
    return "{0}.{1}".format(major.value, minor.value)


def nvml_instances(nvml, device):
    """Return the number of existing MIG devices that this process may use."""
    found = 0
    for index in range(nvml.number("nvmlDeviceGetMaxMigDeviceCount", device)):
        part = ctypes.c_void_p()
        found += nvml.library.nvmlDeviceGetMigDeviceHandleByIndex(device, index, ctypes.byref(part)) == NVML_OK
    return found


def nvml_uncorrected(nvml, device):
    """Return the uncorrected errors of its memory since the driver was loaded."""
    count = ctypes.c_ulonglong(0)
    # 1: uncorrected; 0: since the driver was loaded.
    nvml.call("nvmlDeviceGetTotalEccErrors", device, 1, 0, ctypes.byref(count))
    return count.value


def nvml_rows(nvml, device):
    """Return rows of memory to be replaced at the next reset, and True if replacing has failed; from Ampere on."""
    numbers = [ctypes.c_uint(0) for _ in range(4)]
    nvml.call("nvmlDeviceGetRemappedRows", device, *[ctypes.byref(number) for number in numbers])
    return {"pending": bool(numbers[2].value), "failed": bool(numbers[3].value)}


NVML_ATTRIBUTES = (
    ("name", lambda nvml, device: nvml.words("nvmlDeviceGetName", device)),
    ("uuid", lambda nvml, device: nvml.words("nvmlDeviceGetUUID", device)),
    ("capability", nvml_capability),
    ("memory", nvml_memory),
    ("mig", lambda nvml, device: nvml.current("nvmlDeviceGetMigMode", device)),
    ("ecc", lambda nvml, device: nvml.current("nvmlDeviceGetEccMode", device)),
    ("persistence", lambda nvml, device: NVML_SWITCH.get(nvml.number("nvmlDeviceGetPersistenceMode", device))),
    ("compute_mode", lambda nvml, device: NVML_COMPUTE_MODES.get(nvml.number("nvmlDeviceGetComputeMode", device))),
    ("bus", nvml_bus),
    ("processes", nvml_processes),
    ("uncorrected", nvml_uncorrected),
    ("rows", nvml_rows),
)


def nvml_gpu(nvml, index):
    """Return one GPU: each attribute, or None and the reason among the errors."""
    seen = dict((name, None) for name, _ in NVML_ATTRIBUTES)
    seen.update({"index": index, "instances": None, "errors": {}})
    device = ctypes.c_void_p()
    try:
        nvml.call(("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"), index, ctypes.byref(device))
    except NvmlFailed as error:
        seen["errors"]["handle"] = text(error)
        return seen
    for name, ask in NVML_ATTRIBUTES + ((("instances", nvml_instances),)):
        if name != "instances" or seen["mig"] == "on":
            try:
                seen[name] = ask(nvml, device)
            except (NvmlFailed, AttributeError) as error:
                seen["errors"][name] = text(error)
    return seen


def nvml_system(nvml, name):
    """Return one text about the whole system; None if the library does not have it."""
    try:
        return nvml.words(name)
    except (NvmlFailed, AttributeError):
        return None


def nvml_seen():
    """Return driver release, NVML version and every GPU, as reported by libnvidia-ml.so.1."""
    seen = {"loadable": False, "error": "", "path": "", "init": None, "driver": None, "version": None, "gpus": []}
    # The GPUs that CUDA shows to this process depend on it, those that NVML shows do not.
    seen["visible"] = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return dict(seen, error=text(error))
    nvml = Nvml(library)
    seen.update({"loadable": True, "path": loaded_path(library)})
    seen["stub"] = "/stubs/" in seen["path"]
    code = nvml.code(("nvmlInit_v2", "nvmlInit"))
    seen["init"] = {"code": code, "name": text(library.nvmlErrorString(code) or b"")}
    if code != NVML_OK or seen["stub"]:
        return seen
    try:
        seen["driver"] = nvml_system(nvml, "nvmlSystemGetDriverVersion")
        seen["version"] = nvml_system(nvml, "nvmlSystemGetNVMLVersion")
        count = nvml.number(("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"))
        seen["gpus"] = [nvml_gpu(nvml, index) for index in range(count)]
    finally:
        library.nvmlShutdown()
    return seen


def part_nvml(request, report, only):
    """Child: ask the management library."""
    report("nvml", nvml_seen)


def nvml_fact(path):
    """Return the facts of the management library."""
    return run_part("nvml", path, ["nvml"], NVML_LIMIT)[0]["nvml"]
