"""Public names of TensorFlow's modules, read from the generated API files of a wheel without running them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Names: TypeAlias = "dict[str, set[str]]"
"""By module (`tf`, `tf.nn`): its public names."""

DEPTH = 3
"""How many modules below `tf` are read: `tf.data.experimental.service`."""
_ROOTS = ("tensorflow_core/_api/v2/", "tensorflow_core/_api/v1/", "tensorflow/_api/v2/", "tensorflow/_api/v1/")
_LEFT_OUT = {"tf.compat", "tf.contrib"}
# Old wheels have their Python files in NAME.data/purelib/ or on top.
_PREFIX = re.compile(r"^(?:[^/]+\.data/purelib/)?")


def names_of_wheel(wheel: zipfile.ZipFile) -> Names:
    """Return the public names of every module of the API.

    Raises:
        ValueError: The wheel has no generated API files (before TensorFlow 1.9).
    """
    api = _files(wheel)
    top = "tensorflow_core/" if "tensorflow_core/__init__.py" in api.files else "tensorflow/"
    root = api.text(top)
    if "from tensorflow.python import *" in root:
        raise ValueError("the wheel has no generated API files")
    folder = next((each for each in _ROOTS if f"{each}__init__.py" in api.files), "tensorflow/")
    found: Names = {}
    api.read("tf", root, folder, found)
    for name in _foreign(root):
        found.pop(f"tf.{name}", None)
    for module, name in _placed(root):
        found.get(f"tf.{module}", set()).add(name)
    if "contrib" in found["tf"]:
        found["tf.contrib"] = api.contrib(top)
    keras = f"{top}python/keras/api/_v{2 if '_api/v2/' in folder else 1}/keras/"
    if "tf.keras" not in found and f"{keras}__init__.py" in api.files:
        api.read("tf.keras", api.text(keras), keras, found)
    return found


def keras_names(wheel: zipfile.ZipFile) -> Names:
    """Return the public names of `tf.keras` as a wheel of Keras brings them (from TensorFlow 2.6 on).

    Raises:
        ValueError: The wheel has no API files for TensorFlow.
    """
    api = _files(wheel)
    for folder in ("keras/api/_v2/keras/", "keras/_tf_keras/keras/", "keras/api/_tf_keras/keras/"):
        if f"{folder}__init__.py" in api.files:
            found: Names = {}
            api.read("tf.keras", api.text(folder), folder, found)
            return found
    raise ValueError("the wheel has no API files for TensorFlow")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ApiFiles:
    """The `__init__.py` files of a wheel.

    Attributes:
        wheel: The archive.
        files: By path as installed, the path in the archive.
    """

    wheel: zipfile.ZipFile
    files: Mapping[str, str]

    def text(self, folder: str) -> str:
        """Return the file of a package."""
        return self.wheel.read(self.files[f"{folder}__init__.py"]).decode()

    def read(self, module: str, text: str, folder: str, found: Names) -> None:
        """Add the names of a module and of the modules below it."""
        found[module] = public_names(text)
        if module.count(".") >= DEPTH or module in _LEFT_OUT:
            return
        for name in sorted(found[module]):
            inner = f"{folder}{name}/"
            if f"{inner}__init__.py" in self.files:
                self.read(f"{module}.{name}", self.text(inner), inner, found)

    def contrib(self, top: str) -> set[str]:
        """Return the packages of `tf.contrib`, which is loaded when it is first used."""
        inner = re.compile(rf"{top}contrib/([a-z]\w*)/__init__\.py")
        return {match[1] for file in self.files if (match := inner.fullmatch(file))}


def _files(wheel: zipfile.ZipFile) -> _ApiFiles:
    names = [name for name in wheel.namelist() if name.endswith("__init__.py")]
    return _ApiFiles(wheel=wheel, files={_PREFIX.sub("", name, count=1): name for name in names})


def public_names(text: str) -> set[str]:
    r"""Return the names that a generated module imports or sets, and does not delete.

    Example:
        >>> sorted(public_names("from tensorflow.python.ops import add_v2 as add, sub\nimport os\ndel sub"))
        ['add']
    """
    names: set[str] = set()
    gone: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        names.update(_bound(node))
        if isinstance(node, ast.Delete):
            gone.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in names - gone if not name.startswith("_")}


def _foreign(text: str) -> set[str]:
    """Modules that come from another distribution, such as `tf.summary` of 2.x from TensorBoard."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.level == 0]
    theirs = [node for node in imports if (node.module or "").split(".")[0] != "tensorflow"]
    return {alias.asname or alias.name for node in theirs for alias in node.names}


def _placed(text: str) -> Iterator[tuple[str, str]]:
    """Yield names that a module adds to others, as module and name: `app.flags = flags`, of TensorFlow 1.9 to 1.15."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Assign(targets=[ast.Attribute(value=ast.Name(id=module), attr=name)])
                | ast.Assign(
                    targets=[
                        ast.Attribute(value=ast.Attribute(value=ast.Name(id="_current_module"), attr=module), attr=name)
                    ]
                )
            ):
                yield module, name
            case _:
                continue


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=module, names=aliases) if module != "__future__":
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() | ast.Call()):
            yield name
        case ast.keyword(arg="child_package_str", value=ast.Constant(value=str(name))):
            yield name.rpartition(".")[2]
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
            yield name
        case _:
            return


_WALK = """
import json, sys, types
import tensorflow as tf
found = {}
def walk(module, name, depth):
    found[name] = sorted(each for each in dir(module) if not each.startswith("_"))
    for each in found[name] if depth else ():
        inner = getattr(module, each, None)
        if isinstance(inner, types.ModuleType) and inner.__name__.startswith("tensorflow") and each != "contrib":
            walk(inner, name + "." + each, depth - 1)
walk(tf, "tf", int(sys.argv[1]))
found["tf"] = [each for each in found["tf"] if each not in ("core", "python")]
json.dump(found, sys.stdout)
"""


def names_by_import(python: Path, wheel: zipfile.ZipFile) -> Names:
    """Return the public names that an interpreter sees which has the release of a wheel installed."""
    done = subprocess.run([python, "-W", "ignore", "-c", _WALK, str(DEPTH)], capture_output=True, text=True, check=True)
    found: Names = {module: set(names) for module, names in json.loads(done.stdout).items()}
    found["tf.contrib"] = _files(wheel).contrib("tensorflow/")
    return found
