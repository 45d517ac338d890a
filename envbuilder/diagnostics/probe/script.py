"""Programs for inside of images: the probe and the worker, each joined into one file, and the memory hook."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

_INSIDE = "envbuilder.incontainer"
_PACKAGE = f"{_INSIDE}.probe"
_ORDER = (
    "values",
    "machine",
    "elf",
    "children",
    "stand_ins",
    "libraries",
    "driver",
    "nvml",
    "host",
    "node",
    "toolkit",
    "software",
    "compute",
    "own_check",
    "framework",
    "memory_policy",
    "training",
    "placing",
    "operations",
    "gpu_operations",
    "gpu_training",
    "gpu_speed",
    "gpu_together",
    "gpu_memory",
    "rehearsal",
    "main",
)
_WORKER = f"{_INSIDE}.multi_node"
_WORKER_ORDER = (
    *(f"{_PACKAGE}.{name}" for name in ("values", "machine", "children")),
    *(f"{_WORKER}.{name}" for name in ("cluster", "findings", "rendezvous", "together", "worker")),
)
_WIDTH = 120


@cache
def probe_source() -> bytes:
    """Return the probe, byte for byte as it is copied into a container: one file of standard Python."""
    return _joined(_PACKAGE, tuple(f"{_PACKAGE}.{name}" for name in _ORDER))


@cache
def worker_source() -> bytes:
    """Return the worker of several: one file of standard Python that needs TensorFlow only in its child process."""
    return _joined(_WORKER, _WORKER_ORDER)


def _joined(package: str, modules: Sequence[str]) -> bytes:
    """Return modules of `incontainer` as one program that stands alone; the last one has its `main`.

    Args:
        package: Its docstring becomes that of the program.
        modules: Full names, each after those that it imports.
    """
    head = files(package).joinpath("__init__.py").read_text(encoding="utf-8")
    imports: set[str] = set()
    bodies = []
    for module in modules:
        parent, _, name = module.rpartition(".")
        title, own, body = _parts(files(parent).joinpath(f"{name}.py").read_text(encoding="utf-8"))
        imports |= own
        bodies.append(f"# --- {title} ".ljust(_WIDTH, "-") + f"\n\n{body}")
    start = 'if __name__ == "__main__":\n    main()\n'
    listed = "".join(f"{each}\n" for each in sorted(imports))
    return "\n\n".join((f"{head}\nfrom __future__ import print_function\n\n{listed}", *bodies, start)).encode()


def memory_hook() -> bytes:
    """Return the hook for memory policies, byte for byte as it is copied into an image."""
    return files(_INSIDE).joinpath("memory_hook.py").read_bytes()


def _parts(source: str) -> tuple[str, set[str], str]:
    """Return the title of a module, its imports of the standard library, and the code below the imports."""
    module = ast.parse(source)
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    last = max((node.end_lineno or 0 for node in (*imports, module.body[0])), default=0)
    body = "\n".join(source.splitlines()[last:]).strip("\n")
    own = {text for node in imports if not (text := ast.unparse(node)).startswith(f"from {_INSIDE}.")}
    return (ast.get_docstring(module) or "").splitlines()[0].rstrip("."), own, f"{body}\n"
