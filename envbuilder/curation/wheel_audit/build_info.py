"""Read TensorFlow's `build_info.py` without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from envbuilder.core.corrupt_file import Damaged
from envbuilder.curation.wheel_audit.measurement import BuildValue


def read_build_info(source: str) -> tuple[tuple[str, BuildValue], ...]:
    """Return the constants in it, sorted by name.

    It has had three forms: assignments (up to 2.2), `build_info = {…}` (2.3), and a dictionary inside of a call, or a
    list of pairs, from 2.4 on. What is not a text, a truth value or a list of texts is left out.

    Raises:
        Damaged: It is not Python.

    Example:
        >>> read_build_info("build_info = {'cuda_version': '11.0', 'is_cuda_build': True}")
        (('cuda_version', '11.0'), ('is_cuda_build', True))
        >>> read_build_info("is_cuda_build = False")
        (('is_cuda_build', False),)
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Damaged(f"is not Python: {error or type(error).__name__}") from error
    found = {name: value for statement in tree.body for name, value in _assigned(statement)}
    return tuple(sorted(found.items()))


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, BuildValue]]:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return
    for name, node in _named(statement.targets[0].id, statement.value):
        value = _value(node)
        if value is not None:
            yield name, value


def _named(name: str, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the entries of a dictionary in any of its forms; else the node itself under its name."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Dict):
        yield from ((key, value) for each, value in zip(node.keys, node.values, strict=True) if (key := _text(each)))
    elif isinstance(node, ast.List) and all(isinstance(item, ast.Tuple) and len(item.elts) == 2 for item in node.elts):
        pairs = (item.elts for item in node.elts if isinstance(item, ast.Tuple))
        yield from ((key, value) for each, value in pairs if (key := _text(each)))
    else:
        yield name, node


def _value(node: ast.expr) -> BuildValue | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | bool) else None
    if isinstance(node, ast.List | ast.Tuple):
        texts = tuple(_text(item) for item in node.elts)
        return tuple(text for text in texts if text is not None) if None not in texts else None
    return None


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
