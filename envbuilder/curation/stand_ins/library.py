"""A shared library that takes the place of one of NVIDIA's: right name, functions that refuse.

It lets a program start that is linked against the library. Every function returns an error, so that nothing is computed
with it. The symbol `MARKER` identifies it: the probe reports a library with that symbol as a stand-in.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol

MARKER = "envbuilder_stand_in"
"""Exported by every stand-in. `incontainer/probe/stand_ins.py` searches for it."""

_TIME_LIMIT = 60.0
_TEXTS = re.compile(r"(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc)Get\w*(String|Name)")
"""Functions that return a text instead of a status."""

_ERRORS = {"libcuda": 100}
"""Results other than 1, which is an error in every CUDA library. 100 is `CUDA_ERROR_NO_DEVICE`.

Source: `cuda.h` of CUDA 8.0 to 12; 1 is `CUBLAS_STATUS_NOT_INITIALIZED`, `CUDNN_STATUS_NOT_INITIALIZED`,
`CUFFT_INVALID_PLAN`, `CUSOLVER_STATUS_NOT_INITIALIZED`, and an error of the runtime.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Source of a stand-in.

    Attributes:
        soname: Its name for programs that are linked against it, such as `libcublas.so.9.0`.
        code: Its functions, in C.
        versions: Version script for the linker; empty for functions without versions.
    """

    soname: str
    code: str
    versions: str


def stand_in(soname: str, imports: Iterable[ImportedSymbol]) -> StandIn:
    """Return a stand-in that has every function that a wheel imports from a library."""
    stem = soname.partition(".so")[0]
    own = sorted({symbol for symbol in imports if symbol.library == stem})
    names = sorted({symbol.name for symbol in own})
    functions = [_function(name) for name in names]
    head = [
        f"const int {MARKER} = 1;",
        f"static int status(void) {{ return {_ERRORS.get(stem, 1)}; }}",
        f'static const char *text(void) {{ return "{soname} is a stand-in of envbuilder"; }}',
    ]
    return StandIn(soname=soname, code="\n".join([*head, *functions, ""]), versions=_version_script(own))


def compiled(source: StandIn, search_path: str) -> bytes:
    """Return the library of a source; the same bytes for the same source and compiler.

    The C compiler is searched in `search_path`, which is written as `PATH`.

    Raises:
        ToolMissing: There is no C compiler.
        ToolFailed: The compiler refuses the source.
    """
    compiler = shutil.which("cc", path=search_path)
    if compiler is None:
        raise ToolMissing(
            "stand-ins are compiled, and there is no C compiler (cc)", hint="apt-get install gcc libc6-dev"
        )
    with tempfile.TemporaryDirectory(prefix="envbuilder-stand-in-") as name:
        folder = Path(name)
        (folder / "library.c").write_text(source.code, encoding="utf-8")
        (folder / "versions").write_text(source.versions, encoding="utf-8")
        script = ["-Wl,--version-script,versions"] if source.versions else []
        command = [
            compiler, "-shared", "-fPIC", "-nostdlib", "-w", "-s", "-Wl,--build-id=none",
            f"-Wl,-soname,{source.soname}", *script, "-o", "library.so", "library.c",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)
        if done.returncode:
            raise ToolFailed(f"the stand-in for {source.soname} cannot be compiled:\n{done.stderr.strip()}")
        return (folder / "library.so").read_bytes()


def _function(name: str) -> str:
    if _TEXTS.fullmatch(name):
        return f'const char *{name}(void) __attribute__((alias("text")));'
    return f'int {name}(void) __attribute__((alias("status")));'


def _version_script(symbols: Iterable[ImportedSymbol]) -> str:
    """Return one node for each version, with its functions; the marker is in the first node."""
    nodes: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.version:
            nodes.setdefault(symbol.version, []).append(symbol.name)
    if not nodes:
        return ""
    loose = [symbol.name for symbol in symbols if not symbol.version]
    first = min(nodes)
    nodes[first] += [MARKER, *loose]
    lines = [
        f"{node} {{ global: {' '.join(f'{name};' for name in names)} }};\n" for node, names in sorted(nodes.items())
    ]
    return "".join(lines)
