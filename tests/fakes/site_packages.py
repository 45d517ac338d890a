"""A directory of installed packages: metadata, and of TensorFlow the few files that the probe reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

# The three forms that the file has had. Source: build_info.py in the wheels of 1.4.1, 2.4.4 and 2.15.1, 2026-11-22.
ASSIGNED = "# coding: utf-8\nmsvcp_dll_names = ''\nis_cuda_build = {cuda}\ncuda_version_number = '10.0'\n"
DICTIONARY = "build_info = {{'is_cuda_build': {cuda}, 'cuda_version': '10.1', 'cudnn_version': '7'}}\n"
PAIRS = (
    "import collections\n"
    "build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_35', 'compute_80']),"
    " ('cuda_version', '11.0'), ('cudnn_version', '8'), ('is_cuda_build', {cuda})])\n"
)


def install(folder: Path, name: str, version: str, *requires: str, modules: Iterable[str] = ()) -> Path:
    """Install a distribution; gives the directory of its metadata."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in requires]
    (metadata / "METADATA").write_text("\n".join([*lines, "", "Requires-Dist: no-header", ""]), encoding="utf-8")
    for module in modules:
        (folder / module).mkdir(exist_ok=True)
        (folder / module / "__init__.py").write_text("raise ImportError('looked at, not imported')\n", encoding="utf-8")
    records = [f"{module}/__init__.py,sha256=x,1\n" for module in modules]
    (metadata / "RECORD").write_text("".join([f"{metadata.name}/METADATA,,\n", *records]), encoding="utf-8")
    return metadata


def install_tensorflow(  # one parameter for each part
    folder: Path, version: str, *requires: str, name: str = "tensorflow", cuda: bool = False, info: str = PAIRS
) -> None:
    """Install a TensorFlow that cannot be imported, with what it tells of its build."""
    install(folder, name, version, *requires, modules=("tensorflow",))
    place = folder / "tensorflow" / "python" / "platform"
    place.mkdir(parents=True, exist_ok=True)
    (place / "build_info.py").write_text(info.format(cuda=cuda), encoding="utf-8")


def add_builtin_keras(folder: Path, version: str, *, place: str = "python/keras") -> None:
    """Put a Keras inside of the installed TensorFlow."""
    keras = folder / "tensorflow" / place
    keras.mkdir(parents=True)
    (keras / "__init__.py").write_text(f"from x import y\n__version__ = '{version}'\ndel y\n", encoding="utf-8")


def add_library(folder: Path, name: str, *links: str) -> None:
    """Put a library that cannot be opened into a directory, with other names for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"no library")
    for link in links:
        (folder / link).symlink_to(name)
