"""The reference of `envbuilder.api`: signatures and docstrings of its functions, fields of its values."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from envbuilder import api
from tools.docs.markdown import code, plain, section

PAGE = "api-reference.md"
_WIDTH = 100
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Example):$", re.MULTILINE)
_ITEM = re.compile(r"^([\w*]+): (.*)$")


def interface_page() -> str:
    """Return the page as Markdown."""
    functions = [name for name in api.__all__ if name[0].islower()]
    lines = [
        "# Python reference",
        "",
        "Everything that `envbuilder.api` promises. Examples: [Python interface](api.md).",
        "",
        *section("Functions", [line for name in functions for line in _function(name)]),
        *section("Values", [line for name in api.__all__ if name not in functions for line in _value(name)]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _function(name: str) -> Iterator[str]:
    function = getattr(api, name)
    yield f"### {name}"
    yield ""
    yield "```python"
    yield _signature(function.__code__.co_filename, name)
    yield "```"
    yield ""
    yield from _described(function)


def _value(name: str) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield from _described(getattr(api, name))


def _signature(file: str, name: str) -> str:
    """Return the signature as it is written, with one parameter on each line if it is long."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    result = f" -> {ast.unparse(found.returns)}" if found.returns else ""
    parameters = list(_parameters(found.args))
    whole = f"{name}({', '.join(parameters)}){result}"
    if len(whole) <= _WIDTH:
        return whole
    lines = ",\n    ".join(parameters)
    return f"{name}(\n    {lines},\n){result}"


def _parameters(of: ast.arguments) -> Iterator[str]:
    """Yield positional parameters, a star, and those that are given by name; none here has variadic ones."""
    without = [None] * (len(of.args) - len(of.defaults))
    yield from (_parameter(each, default) for each, default in zip(of.args, [*without, *of.defaults], strict=True))
    if of.kwonlyargs:
        yield "*"
        yield from (_parameter(*each) for each in zip(of.kwonlyargs, of.kw_defaults, strict=True))


def _parameter(of: ast.arg, default: ast.expr | None) -> str:
    hint = f"{of.arg}: {ast.unparse(of.annotation)}" if of.annotation else of.arg
    return f"{hint} = {ast.unparse(default)}" if default else hint


def _described(named: object) -> Iterator[str]:
    """Yield a docstring in Google's style as Markdown."""
    text = inspect.getdoc(named) or ""
    head, *parts = _SECTION.split(text)
    yield plain(head.strip())
    yield ""
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        if title == "Example":
            yield from ("```pycon", inspect.cleandoc(body), "```", "")
        else:
            yield f"**{'Fields' if title == 'Attributes' else title}**"
            yield ""
            yield from _items(inspect.cleandoc(body))
            yield ""


def _items(body: str) -> Iterator[str]:
    """Yield the entries of a section as a list; a section without entries as a paragraph."""
    joined = re.sub(r"\n +", " ", body)
    for line in joined.splitlines():
        item = _ITEM.match(line)
        yield f"- {code(item[1])}: {plain(item[2])}" if item else plain(line)
