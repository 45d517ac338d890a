"""Installed packages, TensorFlow's build and CUDA libraries, read from files; nothing is imported or loaded."""

import ast
import glob
import os
import re
import struct
import sys

from envbuilder.incontainer.probe.driver import loader_cache
from envbuilder.incontainer.probe.elf import Elf, tensorflow_libraries
from envbuilder.incontainer.probe.libraries import own_search_path
from envbuilder.incontainer.probe.machine import distribution
from envbuilder.incontainer.probe.toolkit import wheel_folders
from envbuilder.incontainer.probe.values import content_of

CUDA_FILE = re.compile(
    r"lib(cublas|cublasLt|cudart|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink)\.so\.[\d.]+$"
)
TOOLKITS = ("/usr/local/cuda*/lib64", "/opt/cuda*/lib64", "/usr/local/cuda*/targets/x86_64-linux/lib")
MODULES = ("tensorflow", "keras")
FRAMEWORKS = re.compile(r"tensorflow|keras|^tf[-_]")
KERAS_FILES = (
    os.path.join("python", "keras", "__init__.py"),
    os.path.join("python", "keras", "_impl", "keras", "__init__.py"),
)


def installed():
    """Return every distribution on sys.path in its order, including those hidden by another of the same name."""
    found = []
    for entry in unique(os.path.realpath(entry) for entry in sys.path if entry):
        for pattern in ("*.dist-info", "*.egg-info"):
            for path in sorted(glob.glob(os.path.join(entry, pattern))):
                # pip renames what it could not remove to ~NAME.
                known = None if os.path.basename(path).startswith("~") else distribution(path)
                if known:
                    found.append(told(known[0], known[1], entry, path))
    return found


def told(name, version, folder, path):
    """Return one distribution; a framework with its requirements and the modules whose files it owns."""
    known = {"name": name, "version": version, "folder": folder, "requires": [], "modules": []}
    if FRAMEWORKS.search(name):
        known["requires"] = requirements(path)
        known["modules"] = owned(path)
    return known


def requirements(path):
    """Return the requirements in the metadata of a distribution, without those of its extras."""
    head = (content_of(os.path.join(path, "METADATA")) or "").split("\n\n", 1)[0]
    every = re.findall(r"^Requires-Dist:[ \t]*(.+?)[ \t]*$", head, re.MULTILINE)
    return [each for each in every if not re.search(r";.*\bextra\s*==", each)]


def owned(path):
    """Return the modules whose `__init__.py` is in the record of a distribution."""
    try:
        with open(os.path.join(path, "RECORD"), "rb") as handle:
            starts = set(line.split(b",", 1)[0] for line in handle if b"/__init__.py" in line)
    except (IOError, OSError):
        return []
    return [name for name in MODULES if (name + "/__init__.py").encode("ascii") in starts]


def module_folder(name):
    """Return the directory of the module that an import would load; empty if there is none."""
    for entry in sys.path:
        if os.path.isfile(os.path.join(entry, name, "__init__.py")):
            return os.path.abspath(os.path.join(entry, name))
    return ""


def source_tree(path):
    """Return a source file as a syntax tree; None if it cannot be read."""
    content = content_of(path)
    try:
        return ast.parse(content.encode("utf-8")) if content else None
    except (SyntaxError, ValueError, TypeError):
        return None


def literal(node):
    """Return the value of a constant, or of a call with one list or dictionary: `OrderedDict([...])`; else None."""
    inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
    try:
        value = ast.literal_eval(inner)
    except (SyntaxError, ValueError, TypeError):
        return None
    return value if inner is node or isinstance(value, (list, dict)) else None


def constants(path):
    """Return the constants that a module assigns, those of a dictionary or of a list of pairs under their own names."""
    tree, found = source_tree(path), {}
    for node in tree.body if tree else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        value = literal(node.value)
        if isinstance(value, list) and all(isinstance(each, tuple) and len(each) == 2 for each in value):
            value = dict(value)
        if isinstance(value, dict):
            found.update((name, each) for name, each in value.items() if each is not None)
        elif value is not None:
            found[node.targets[0].id] = value
    return found


def needed_libraries():
    """Return CUDA libraries that TensorFlow's own libraries are linked against, sorted."""
    found = set()
    for path in tensorflow_libraries():
        try:
            found |= set(name for name in Elf(path).needed() if CUDA_FILE.match(name))
        except (ValueError, IOError, OSError, struct.error):
            continue
    return sorted(found)


def inner_folder(folder):
    """Return the directory of TensorFlow's files: from 1.15 to 2.0 they are in `tensorflow_core`."""
    beside = os.path.join(os.path.dirname(folder), "tensorflow_core")
    return beside if os.path.isdir(beside) else folder


def tensorflow_files():
    """Return the properties of TensorFlow from its files; None without them."""
    folder = module_folder("tensorflow")
    if not folder:
        return None
    inner = inner_folder(folder)
    builtin = [constants(os.path.join(inner, name)).get("__version__") for name in KERAS_FILES]
    return {
        "folder": folder,
        "info": constants(os.path.join(inner, "python", "platform", "build_info.py")),
        "keras": ([version for version in builtin if version] + [""])[0],
        "needed": needed_libraries(),
    }


def unique(values):
    """Return the values, each once."""
    found = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def conda_folder():
    """Return the library directory of the interpreter's conda environment; empty outside of one."""
    is_conda = os.path.isdir(os.path.join(sys.prefix, "conda-meta"))
    return os.path.join(sys.prefix, "lib") if is_conda else ""


def interpreter_search_path():
    """Return the RPATH directories of the interpreter itself, as in conda, which also apply to loaded libraries."""
    try:
        return Elf(os.path.realpath(sys.executable)).search_path()
    except (ValueError, IOError, OSError, struct.error):
        return []


def searched():
    """Return directories with CUDA libraries in the loader's order: the way (empty: none), and the directory."""
    named = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    rows = [("LD_LIBRARY_PATH", folder) for folder in named]
    rows += [("RUNPATH", folder) for folder in own_search_path() + interpreter_search_path()]
    rows += [("loader", os.path.dirname(line.split("=> ", 1)[1].strip())) for line in loader_cache() if "=> " in line]
    rows += [("", folder) for folder in wheel_folders() + [conda_folder()] if folder]
    rows += [("", folder) for pattern in TOOLKITS for folder in sorted(glob.glob(pattern))]
    found, seen = [], set()
    for via, folder in rows:
        real = os.path.realpath(folder)
        if real not in seen and os.path.isdir(real):
            seen.add(real)
            found.append((via, folder))
    return found


def cuda_files():
    """Return names of CUDA libraries in the loader's directories, or in those of packages and toolkits."""
    found = []
    for via, folder in searched():
        for name in sorted(os.listdir(folder)):
            if CUDA_FILE.match(name):
                path = os.path.join(folder, name)
                found.append({"name": name, "path": path, "real": os.path.realpath(path), "via": via})
    return found


def software():
    """Return the software in the environment of this interpreter."""
    return {
        "distributions": installed(),
        "tensorflow": tensorflow_files(),
        "libraries": cuda_files(),
        "conda": conda_folder(),
    }
