"""Measure the size and shape of the package: `python -m tools.measures [CHECKOUT]`.

Prints one row of a Markdown table for the whole, then one for each district. The lines of a function run from `def` to
its end. The complexity of a function is one more than its decisions: branches, loops, handlers, cases, conditions of
comprehensions, and each further operand of `and` and `or`. It is stricter than ruff's.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "envbuilder"
LONG_FUNCTION = 50
COMPLEX_FUNCTION = 10
HEADER = (
    "| | modules | lines | file med/p90/max | fn p50/p90/max | >50 | cx p90/max, >10 | params p90/max | typed | pubdoc "
    "| comments | tests/src |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)

_DECISIONS = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
    *(ast.ExceptHandler, ast.match_case, ast.comprehension),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function or method.

    Attributes:
        lines: From `def` to its end.
        complexity: One more than its decisions.
        parameters: Without `self` and `cls`.
        typed: Whether all parameters and the result have annotations.
    """

    lines: int
    complexity: int
    parameters: int
    typed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file.

    Attributes:
        lines: All of them.
        comments: Comments, those at the end of a line of code included.
        functions: Functions and methods, nested ones included.
        public: Docstrings that it could have: its own, and those of public classes, functions and methods.
        documented: How many of these it has.
    """

    lines: int
    comments: int
    functions: tuple[Function, ...]
    public: int
    documented: int


def measure(source: str) -> Module:
    """Return the measures of the text of a module."""
    tree = ast.parse(source)
    public = [tree, *_public(tree.body)]
    return Module(
        lines=len(source.splitlines()),
        comments=sum(
            token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(source).readline)
        ),
        functions=tuple(_function(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)),
        public=len(public),
        documented=sum(ast.get_docstring(node) is not None for node in public),
    )


def row(name: str, modules: Sequence[Module], test_lines: int | None = None) -> str:
    """Return the measures of modules as a row of a Markdown table; `test_lines` of `None` leaves the ratio out."""
    functions = [function for module in modules for function in module.functions]
    sizes, lengths = [module.lines for module in modules], [function.lines for function in functions]
    complexity = [function.complexity for function in functions]
    parameters = [function.parameters for function in functions]
    lines = sum(sizes)
    complex_functions = _share(sum(each > COMPLEX_FUNCTION for each in complexity), len(complexity))
    cells = (
        name,
        f"{len(modules):,}",
        f"{lines:,}",
        f"{percentile(sizes, 50)}/{percentile(sizes, 90)}/{max(sizes)}",
        f"{percentile(lengths, 50)}/{percentile(lengths, 90)}/{max(lengths, default=0)}",
        f"{sum(length > LONG_FUNCTION for length in lengths)}",
        f"{percentile(complexity, 90)}/{max(complexity, default=0)}, {complex_functions}",
        f"{percentile(parameters, 90)}/{max(parameters, default=0)}",
        _share(sum(function.typed for function in functions), len(functions)),
        _share(sum(module.documented for module in modules), sum(module.public for module in modules)),
        _share(sum(module.comments for module in modules), lines),
        f"{test_lines / lines:.2f}" if test_lines is not None else "",
    )
    return f"| {' | '.join(cells)} |"


def percentile(values: Iterable[int], share: int) -> int:
    """Return the smallest value that at least `share` percent of the values do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)] if ordered else 0


def table(checkout: Path) -> Iterator[str]:
    """Return the lines of the table for the package of a checkout: the whole first, then its districts by name."""
    package = checkout / PACKAGE
    modules = {path: measure(path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py"))}
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (checkout / "tests").rglob("*.py"))
    yield HEADER
    yield row(f"**{PACKAGE}**", list(modules.values()), tests)
    for district in sorted({path.relative_to(package).parts[0] for path in modules if path.parent != package}):
        yield row(district, [module for path, module in modules.items() if path.is_relative_to(package / district)])


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


def _function(node: ast.FunctionDef) -> Function:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    named += [each for each in (node.args.vararg, node.args.kwarg) if each]
    parameters = [each for each in named if each.arg not in {"self", "cls"}]
    return Function(
        lines=(node.end_lineno or node.lineno) - node.lineno + 1,
        complexity=1 + sum(map(_decisions, _own_nodes(node))),
        parameters=len(parameters),
        typed=node.returns is not None and all(each.annotation for each in parameters),
    )


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it, which count for themselves."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _DECISIONS))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


if __name__ == "__main__":
    print(*table(Path(sys.argv[1] if len(sys.argv) > 1 else ".")), sep="\n")
