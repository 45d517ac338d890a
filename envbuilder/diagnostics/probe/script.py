"""The probe as one file: its modules joined, so that it can be copied anywhere and run; and the memory hook."""

from __future__ import annotations

import ast
from functools import cache
from importlib.resources import files

_PACKAGE = "envbuilder.incontainer.probe"
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
_WIDTH = 120


@cache
def probe_source() -> bytes:
    """Return the probe, byte for byte as it is copied into a container: one file of standard Python."""
    directory = files(_PACKAGE)
    head = directory.joinpath("__init__.py").read_text(encoding="utf-8")
    imports: set[str] = set()
    bodies = []
    for name in _ORDER:
        title, own, body = _parts(directory.joinpath(f"{name}.py").read_text(encoding="utf-8"))
        imports |= own
        bodies.append(f"# --- {title} ".ljust(_WIDTH, "-") + f"\n\n{body}")
    start = 'if __name__ == "__main__":\n    main()\n'
    listed = "".join(f"{each}\n" for each in sorted(imports))
    return "\n\n".join((f"{head}\nfrom __future__ import print_function\n\n{listed}", *bodies, start)).encode()


def memory_hook() -> bytes:
    """Return the hook for memory policies, byte for byte as it is copied into an image."""
    return files("envbuilder.incontainer").joinpath("memory_hook.py").read_bytes()


def _parts(source: str) -> tuple[str, set[str], str]:
    """Return the title of a module, its imports of the standard library, and the code below the imports."""
    module = ast.parse(source)
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    last = max((node.end_lineno or 0 for node in (*imports, module.body[0])), default=0)
    body = "\n".join(source.splitlines()[last:]).strip("\n")
    own = {ast.unparse(node) for node in imports if not (isinstance(node, ast.ImportFrom) and _is_ours(node))}
    return (ast.get_docstring(module) or "").splitlines()[0].rstrip("."), own, f"{body}\n"


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").startswith(_PACKAGE)
