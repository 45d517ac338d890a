"""Ports are small: a protocol has at most three methods of its own, and larger ones are sums of those."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.fakes.catalogs import ROOT

MOST = 3


def protocols() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each protocol of the package as `module:Class`, with the names that its own body declares."""
    for path in sorted((ROOT / "envbuilder").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(is_protocol(base) for base in node.bases):
                yield f"{path.relative_to(ROOT)}:{node.name}", tuple(declared(node))


def is_protocol(base: ast.expr) -> bool:
    """Return True for `Protocol`, `Protocol[T]` and `typing.Protocol`."""
    named = base.value if isinstance(base, ast.Subscript) else base
    return (named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")) == "Protocol"


def declared(protocol: ast.ClassDef) -> Iterator[str]:
    for node in protocol.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_no_protocol_has_more_than_three_members_of_its_own() -> None:
    found = dict(protocols())
    assert found
    assert {name: members for name, members in found.items() if len(members) > MOST} == {}
