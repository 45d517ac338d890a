"""The host around the driver: disk, memory, device nodes, kernel modules, processes on GPUs, and container."""

import errno
import glob
import os
import re
import stat
import subprocess
import tempfile
import time

from envbuilder.incontainer.probe.children import run_part
from envbuilder.incontainer.probe.values import CLOCK, content_of, first_line, text, text_lines

# Exactly these; no other environment variable is recorded.
HOST_VARIABLES = (
    "CUDA_CACHE_MAXSIZE",
    "CUDA_CACHE_PATH",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "KERAS_BACKEND",
    "LD_LIBRARY_PATH",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "TF_CPP_MIN_LOG_LEVEL",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_USE_LEGACY_KERAS",
    "TF_XLA_FLAGS",
    "XLA_FLAGS",
)
GPU_MODULES = ("nouveau", "nvidia", "nvidia_uvm")
EXPECTED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
NODES_LIMIT = 20
SMI_LIMIT = 3.0
SMI_FIELDS = ("name", "driver_version", "memory.total", "memory.free")
WSL_FOLDER = "/usr/lib/wsl/lib"
# Number of the first process namespace (PROC_PID_INIT_INO), unchanged since Linux 3.8:
# https://github.com/torvalds/linux/blob/master/include/linux/proc_ns.h
FIRST_PIDS = "pid:[4026531836]"


def free_disk(path):
    """Return bytes of the file system of a path: total, and free for this user; None if it does not exist."""
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return {"path": path, "total": status.f_frsize * status.f_blocks, "free": status.f_frsize * status.f_bavail}


def free_memory():
    """Return bytes of memory available to programs, and those used by this control group; None if unknown."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", content_of("/proc/meminfo") or "", re.MULTILINE)
    usage = first_line("/sys/fs/cgroup/memory.current") or first_line("/sys/fs/cgroup/memory/memory.usage_in_bytes")
    return {
        "available": int(found.group(1)) * 1024 if found else None,
        "group_used": int(usage) if usage and usage.isdigit() else None,
    }


def gpu_modules():
    """Return the loaded kernel modules for GPUs; None if unknown."""
    content = content_of("/proc/modules")
    if content is not None:
        loaded = set(line.split(" ")[0] for line in content.splitlines())
    elif os.path.isdir("/sys/module"):
        loaded = set(os.listdir("/sys/module"))
    else:
        return None
    return dict((name, name in loaded) for name in GPU_MODULES)


def nvidia_on_bus():
    """Return GPUs of NVIDIA on the PCI bus, each with its kernel driver; None if the bus cannot be seen."""
    if not os.path.isdir("/sys/bus/pci/devices"):
        return None
    found = []
    for folder in sorted(glob.glob("/sys/bus/pci/devices/*")):
        # 03xxxx is a display controller, VGA or 3D.
        if first_line(folder + "/vendor") == "0x10de" and (first_line(folder + "/class") or "").startswith("0x03"):
            link = folder + "/driver"
            driver = os.path.basename(os.path.realpath(link)) if os.path.exists(link) else ""
            found.append({"bus": os.path.basename(folder), "id": first_line(folder + "/device"), "driver": driver})
    return found


def gpu_nodes():
    """Return device nodes of the driver: expected and existing ones, sorted."""
    present = set(path for path in glob.glob("/dev/nvidia*") if re.search(r"/nvidia(\d+|ctl|-uvm)$", path))
    return sorted(present | set(EXPECTED_NODES))


def opened_node(path):
    """Return the state of a device node, and the result of opening it, which is the only proof of access."""
    seen = {"path": path, "present": False, "opened": False, "error": "", "mode": None}
    try:
        status = os.stat(path)
        seen.update({"present": True, "mode": "{0:o}".format(stat.S_IMODE(status.st_mode))})
        if not stat.S_ISCHR(status.st_mode):
            return dict(seen, error="no device")
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0)))
    except OSError as error:
        return dict(seen, error=errno.errorcode.get(error.errno, text(error.errno)))
    return dict(seen, opened=True)


def part_nodes(request, report, only):
    """Child: open the device nodes, which can take forever if a driver hangs."""
    report("nodes", lambda: [opened_node(path) for path in gpu_nodes()])


def nodes_fact(path):
    """Return the device nodes; no child is started if there is none to open."""
    paths = gpu_nodes()
    if not any(os.path.exists(node) for node in paths):
        absent = [{"path": node, "present": False, "opened": False, "error": "ENOENT", "mode": None} for node in paths]
        return {"ok": True, "seconds": 0.0, "value": absent}
    return run_part("nodes", path, ["nodes"], NODES_LIMIT)[0]["nodes"]


def said_by(command, limit):
    """Return exit status and the first lines of a program's output; None as status if it did not end in time."""
    started = CLOCK()
    with tempfile.TemporaryFile() as written:
        child = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
        while child.poll() is None and CLOCK() - started < limit:
            time.sleep(0.01)
        late = child.poll() is None
        if late:
            child.kill()
            child.wait()
        written.seek(0)
        lines = text_lines(written.read(1 << 16))
    return None if late else child.returncode, [text(line) for line in lines if line][:40]


def smi_program():
    """Return the path of nvidia-smi; None without it."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep) + ["/usr/bin", WSL_FOLDER]
    paths = [os.path.join(folder, "nvidia-smi") for folder in folders if folder]
    return next((path for path in paths if os.access(path, os.X_OK) and not os.path.isdir(path)), None)


def asked_smi(program, fields):
    """Return the answer to one query: a list for each GPU; the status and the other lines."""
    command = [program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"]
    status, lines = said_by(command, SMI_LIMIT)
    rows = [[cell.strip() for cell in line.split(",")] for line in lines] if status == 0 else []
    return status, lines, [row for row in rows if len(row) == len(fields)]


def smi():
    """Return the facts of nvidia-smi; None without the program. Numbers are MiB."""
    program = smi_program()
    if program is None:
        return None
    status, lines, rows = asked_smi(program, SMI_FIELDS)
    # Programs before driver 510 refuse a query with this field in it.
    capabilities = asked_smi(program, ("compute_cap",))[2] if rows else []
    if len(capabilities) != len(rows):
        capabilities = [[""]] * len(rows)
    return {
        "path": program,
        "status": status,
        "said": [] if rows else lines[:4],
        "gpus": [smi_gpu(row, capability[0]) for row, capability in zip(rows, capabilities)],
    }


def smi_gpu(row, capability):
    """Return one line of nvidia-smi."""
    sizes = [int(cell) * (1 << 20) if cell.isdigit() else None for cell in row[2:4]]
    return {
        "name": row[0],
        "driver": row[1] if re.match(r"\d+\.\d+(\.\d+)?$", row[1]) else None,
        "memory": sizes[0],
        "free": sizes[1],
        "capability": capability if re.match(r"\d+\.\d+$", capability) else None,
    }


def wsl():
    """Return signs of the Windows Subsystem for Linux: its number (0: not it), its device, the driver of Windows."""
    kernel = os.uname()[2]
    number = (2 if "microsoft-standard" in kernel or "WSL2" in kernel else 1) if "microsoft" in kernel.lower() else 0
    lent = sorted(os.path.basename(path) for path in glob.glob(WSL_FOLDER + "/lib*.so*"))
    return {"number": number, "device": os.path.exists("/dev/dxg"), "libraries": lent}


def container():
    """Return the kind of container, as far as it can be detected; empty without a sign of one."""
    for path, name in (
        ("/run/.containerenv", "podman"),
        ("/.singularity.d", "apptainer"),
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ("/.dockerenv", "docker"),
    ):
        if os.path.exists(path):
            return name
    groups = content_of("/proc/1/cgroup") or ""
    found = re.search(r"kubepods|docker|containerd|lxc", groups)
    return found.group(0) if found else ""


def virtualization():
    """Return True if the processor reports that it is virtual (None: unknown), and the vendor of the machine."""
    flags = re.search(r"^flags\s*:(.*)$", content_of("/proc/cpuinfo") or "", re.MULTILINE)
    return {
        "virtual": "hypervisor" in flags.group(1).split() if flags else None,
        "vendor": first_line("/sys/class/dmi/id/sys_vendor") or "",
        "product": first_line("/sys/class/dmi/id/product_name") or "",
    }


def sees_all_processes():
    """Return True if process ids here are those of the driver; None if unknown."""
    try:
        return os.readlink("/proc/self/ns/pid") == FIRST_PIDS
    except OSError:
        return None


def named_processes(nvml):
    """Return names of the processes that hold GPU memory; None if hidden, or if the id is another's here."""
    gpus = (nvml.get("value") or {}).get("gpus") or []
    holders = sorted(set(each["pid"] for gpu in gpus for each in gpu.get("processes") or []))
    named = sees_all_processes() is not False
    return [{"pid": pid, "name": first_line("/proc/{0}/comm".format(pid)) if named else None} for pid in holders]


def needs_smi(driver, nvml):
    """Return True if neither the management library nor the kernel module gives facts."""
    init = (nvml.get("value") or {}).get("init") or {}
    module = ((driver.get("value") or {}).get("module") or {}).get("release")
    return init.get("code") != 0 and not module


def host(path, driver, nvml):
    """Return the host; `driver` and `nvml` are those facts, which are not collected twice."""
    return {
        "disks": [disk for disk in (free_disk("/"), free_disk(tempfile.gettempdir())) if disk],
        "shm": free_disk("/dev/shm"),
        "memory": free_memory(),
        "modules": gpu_modules(),
        "bus": nvidia_on_bus(),
        "nodes": nodes_fact(path),
        "smi": smi() if needs_smi(driver, nvml) else None,
        "wsl": wsl(),
        "container": container(),
        "virtualization": virtualization(),
        "all_processes": sees_all_processes(),
        "processes": named_processes(nvml),
        "variables": dict((name, os.environ[name]) for name in HOST_VARIABLES if name in os.environ),
    }
