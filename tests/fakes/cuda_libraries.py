"""CUDA libraries that compute on the processor, compiled from `tests/fakes/cuda`; variables say what goes wrong."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent / "cuda"
COMPILER = shutil.which("cc") or shutil.which("gcc")
STACK = ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9")


def compile_fake(folder: Path, source: str, soname: str, *options: str, file: str = "") -> Path:
    """One library, under its soname or under `file` with the soname as a link."""
    assert COMPILER
    target = folder / (file or soname)
    command = [COMPILER, "-O2", "-w", "-shared", "-fPIC", f"-Wl,-soname,{soname}", *options]
    subprocess.run([*command, "-o", str(target), str(SOURCES / f"{source}.c")], check=True)
    if file:
        (folder / soname).symlink_to(file)
    return target


def compile_stack(folder: Path, *, driver: tuple[str, ...] = (), runtime: tuple[str, ...] = ()) -> Path:
    """Driver, management library, runtime, cuBLAS and cuDNN in one folder, for LD_LIBRARY_PATH.

    Args:
        folder: An empty folder.
        driver: Options for the compiler of the driver, such as `-DSTUB`.
        runtime: Likewise for the runtime, such as `-DRUNTIME=13000`.
    """
    real = "" if driver else "libcuda.so.550.54.15"
    beside = (f"-L{folder}", "-Wl,--no-as-needed")
    compile_fake(folder, "cuda", "libcuda.so.1", *driver, file=real)
    compile_fake(folder, "cudart", STACK[0], *runtime, *beside, "-l:libcuda.so.1")
    compile_fake(folder, "cublas", STACK[1], *beside, f"-l:{STACK[0]}")
    compile_fake(folder, "cudnn", STACK[2])
    compile_fake(folder, "nvml", "libnvidia-ml.so.1")
    return folder
