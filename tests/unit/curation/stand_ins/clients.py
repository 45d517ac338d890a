"""Libraries that import functions of CUDA, compiled against stand-ins."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol
from envbuilder.curation.stand_ins.library import compiled, stand_in

CUBLAS = (
    ImportedSymbol(library="libcublas", name="cublasCreate_v2", version="libcublas.so.9.0"),
    ImportedSymbol(library="libcublas", name="cublasSgemm_v2", version="libcublas.so.9.0"),
)
DRIVER = (
    ImportedSymbol(library="libcuda", name="cuDeviceGet", version=""),
    ImportedSymbol(library="libcuda", name="cuInit", version=""),
)
RUNTIME = (
    ImportedSymbol(library="libcudart", name="__cudaRegisterFatBinary", version="libcudart.so.9.0"),
    ImportedSymbol(library="libcudart", name="cudaGetErrorString", version="libcudart.so.9.0"),
)


def stand_in_file(folder: Path, soname: str, imports: Iterable[ImportedSymbol]) -> Path:
    """Write a stand-in under its soname."""
    path = folder / soname
    path.write_bytes(compiled(stand_in(soname, imports), os.environ["PATH"]))
    return path


def client_file(folder: Path, functions: Iterable[str], *libraries: Path) -> Path:
    """Compile a library that calls these functions, linked against these libraries."""
    calls = "\n".join(f"int {name}(void); int call_{name}(void) {{ return {name}(); }}" for name in functions)
    source, target = folder / "client.c", folder / "client.so"
    source.write_text(calls, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-w", "-o", str(target), str(source), *map(str, libraries)]
    subprocess.run(command, check=True, capture_output=True)
    return target
