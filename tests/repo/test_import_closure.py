"""What a command may import: its modules, those that they import, and so on, imports inside of functions included."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "envbuilder.curation",
    "envbuilder.image.docker.engine",
    "envbuilder.image.layers",
    "envbuilder.image.assemble",
    "envbuilder.oci.registry",
    "envbuilder.oci.runtime.selection",
)
"""The container engine through its SDK, the assembler, registries, sandboxes, and what only maintainers use."""


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_name(file): file for file in (ROOT / "envbuilder").rglob("*.py")}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _named(node: ast.AST) -> Iterator[str]:
    """Names of modules, or of what is in one, that a piece of code imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        if not _is_for_types(child):
            yield from _named(child)


@cache
def imported(module: str) -> frozenset[str]:
    """Our modules that one module imports."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    return frozenset(name for name in _named(tree) if name in MODULES)


def closure(module: str) -> frozenset[str]:
    """Our modules that importing one module, and calling its functions, may import; packages without code left out."""
    found: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [*imported(name), *([name.rpartition(".")[0]] if "." in name else [])]
    return frozenset(name for name in found if imported(name) or MODULES[name].name != "__init__.py")


def test_an_import_inside_of_a_function_counts() -> None:
    assert "envbuilder.image.docker.engine" in closure("envbuilder.cli.doctor")


def test_no_imports_go_in_a_circle() -> None:
    left = {
        module: {name for name in imported(module) if not f"{module}.".startswith(f"{name}.")} for module in MODULES
    }
    while free := {module for module, names in left.items() if not names & left.keys()}:
        left = {module: names for module, names in left.items() if module not in free}
    assert not left


@pytest.mark.parametrize(
    ("module", "most"),
    [
        ("envbuilder.api", 1),
        ("envbuilder.cli.main", 18),
        ("envbuilder.cli.list", 84),
        ("envbuilder.cli.diagnose", 104),
    ],
)
def test_a_command_with_any_option_imports_no_more_than_it_needs(module: str, most: int) -> None:
    found = closure(module)
    assert len(found) <= most, f"{module} may import {len(found)} modules"
    assert not {name for name in found if name.startswith(HEAVY)}


def _run(*arguments: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the modules that a command imports: ours, and the names of all; packages without code left out."""
    code = (
        f"import sys; from envbuilder.cli.main import entry; sys.argv[1:] = {list(arguments)!r}\n"
        "try: entry()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    # The program that measures coverage would begin in the process, with imports of its own.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True, cwd=ROOT
    )
    found = frozenset(done.stderr.split())
    return frozenset(name for name in found if name in MODULES and MODULES[name].name != "__init__.py"), found


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(("list",), 61), (("diagnose", "tests/cases/logs/cuda-soname-missing-1.yaml"), 88)],
    ids=["list", "diagnose"],
)
def test_a_command_without_options_imports_few_modules(arguments: tuple[str, ...], most: int) -> None:
    ours, _ = _run(*arguments)
    assert len(ours) <= most, f"{arguments[0]} imports {len(ours)} modules"
    assert not {name for name in ours if name.startswith(HEAVY)}


def test_the_help_imports_neither_settings_nor_the_library_that_draws() -> None:
    ours, found = _run("--help")
    assert len(ours) <= 9
    assert not found & {"rich", "logging", "yaml", "tomllib", "envbuilder.wiring.settings"}
