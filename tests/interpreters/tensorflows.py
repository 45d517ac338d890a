"""A TensorFlow of a few lines: what the memory hook touches, in the shapes of different releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from envbuilder.core.image_layout import HOOK_FILE
from envbuilder.core.memory_policy import START, START_NAME
from envbuilder.incontainer import memory_hook

HOOK = Path(str(memory_hook.__file__))

_PROTO = """
class Options(object):
    def __init__(self, **fields):
        self.allow_growth, self.per_process_gpu_memory_fraction, self.visible_device_list = False, 0.0, ""
        {experimental}
        self.__dict__.update(fields)

class Virtual(list):
    def add(self):
        self.append(type("Entry", (), {{}})())
        self[-1].memory_limit_mb = []
        return self[-1]

class Experimental(object):
    def __init__(self):
        self.virtual_devices = Virtual()

class ConfigProto(object):
    def __init__(self, device_count=None, **fields):
        self.gpu_options, self.device_count = Options(**fields), device_count or {{}}
    def CopyFrom(self, other):
        self.gpu_options.__dict__.update(other.gpu_options.__dict__)
        self.device_count.update(other.device_count)
"""
_SESSION = """
import json
from tensorflow.core.protobuf import config_pb2
{imports}
def told(config):
    options = config.gpu_options
    virtual = getattr(getattr(options, "experimental", None), "virtual_devices", [])
    return dict(growth=options.allow_growth, fraction=options.per_process_gpu_memory_fraction,
                limits=[entry.memory_limit_mb for entry in virtual])

class BaseSession(object):
    def __init__(self, target="", graph=None, config=None):
        {take}
        self._config = config

    def close(self):
        pass

class Session(BaseSession):
    def __init__(self, target="", graph=None, config=None):
        super(Session, self).__init__(target, graph, config=config)
"""
_OLD_CONTEXT = """
class Context(object):
    def __init__(self, config=None):
        self._config = config

    def _initialize_handle_and_devices(self):
        return self._config
"""
_CONTEXT = '''
from tensorflow.core.protobuf import config_pb2

class Context(object):
    def __init__(self):
        self.gpus, self._memory_growth_map = {gpus}, {{0: None, 1: None}}
        self.own = config_pb2.ConfigProto()

    def list_physical_devices(self, kind=None):
        return list(range(self.gpus))

    @property
    def config(self):
        """The configuration."""
        made = config_pb2.ConfigProto()
        made.CopyFrom(self.own)
        made.gpu_options.allow_growth = True in self._memory_growth_map.values()
        return made

_context = Context()
def context():
    return _context
'''
_DEVICES = """
def list_local_devices({argument}):
    return {value}
"""
_SERVER = """
class Server(object):
    def __init__(self, server, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self.config = config
"""
_TOP = """
__version__ = "{version}"
from tensorflow.python.client import session, device_lib
from tensorflow.python.training import server_lib
from tensorflow.python.eager import context
"""


def write(folder: Path, version: str, *, gpus: int = 2) -> None:
    """Put such a TensorFlow into a folder, and the hook's line beside it."""
    first = tuple(map(int, version.split(".")[:2])) < (1, 14)
    virtual = tuple(map(int, version.split(".")[:2])) >= (1, 8)
    take = "" if first else "config = context.context().config if config is None else config"
    files = {
        "__init__.py": _TOP.format(version=version),
        "core/protobuf/config_pb2.py": _PROTO.format(
            experimental="self.experimental = Experimental()" if virtual else ""
        ),
        "python/client/session.py": _SESSION.format(
            imports="" if first else "from tensorflow.python.eager import context", take=take or "pass"
        ),
        "python/client/device_lib.py": _DEVICES.format(
            argument="session_config=None" if virtual else "", value="session_config" if virtual else None
        ),
        "python/training/server_lib.py": _SERVER,
        "python/eager/context.py": _OLD_CONTEXT if first else _CONTEXT.format(gpus=gpus),
    }
    for name, text in files.items():
        path = folder / "tensorflow" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in [path for path in (folder / "tensorflow").rglob("*") if path.is_dir()]:
        (path / "__init__.py").touch()
    (folder / START_NAME).write_text(START.replace(f"/{HOOK_FILE}", str(HOOK)) + "\n", encoding="utf-8")


def libcuda(folder: Path, sizes: tuple[int, ...]) -> None:
    """A driver's library with GPUs of these sizes in bytes."""
    source = folder / "cuda.c"
    listed = ", ".join(f"{size}ull" for size in sizes) or "0"
    source.write_text(
        "#include <stddef.h>\n"
        f"static size_t sizes[] = {{{listed}}};\n"
        "int cuInit(unsigned int flags) { return 0; }\n"
        f"int cuDeviceGetCount(int *count) {{ *count = {len(sizes)}; return 0; }}\n"
        "int cuDeviceGet(int *device, int index) { *device = index; return 0; }\n"
        "int cuDeviceTotalMem_v2(size_t *size, int device) { *size = sizes[device]; return 0; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(source)], check=True)


def run(folder: Path, code: str, *, python: str = sys.executable, **env: str) -> tuple[object, str]:
    """What a program prints as JSON when the folder is its site-packages, and what it wrote besides."""
    program = folder / "program.py"
    program.write_text(f"import json, os, sys, site\nsite.addsitedir({str(folder)!r})\n{code}\n", encoding="utf-8")
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ended = subprocess.run(
        [python, "-I", "-S", str(program)],
        env=known | {"LD_LIBRARY_PATH": str(folder)} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return (json.loads(ended.stdout) if ended.stdout.strip() else None), ended.stderr
