"""Read the folders of `tests/cases`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.memory_policy import parse
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import decode
from tests.unit.diagnostics.checks.expectations import EXPECTATIONS

ROOT = Path(__file__).parents[3] / "cases"


def merged(target: object, patch: object) -> object:
    """Apply a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def facts_named(base: str, plus: tuple[str, ...] = (), change: object = None) -> Facts:
    document = _json(ROOT / "facts" / f"{base}.json")
    for name in plus:
        document = merged(document, _json(ROOT / "patches" / f"{name}.json"))
    return decode(json.dumps(merged(document, change or {})), base)


@cache
def _json(path: Path) -> object:
    """A document that many cases start from; `merged` changes none."""
    return json.loads(path.read_text("utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    check: str
    name: str
    catches: bool
    expectation: Expectation
    base: str
    plus: tuple[str, ...]
    change: object
    expect: str
    says: str

    @property
    def facts(self) -> Facts:
        """Decoded in the test that reads them: each worker collects all cases, and runs a part of them."""
        return facts_named(self.base, self.plus, self.change)


def read(folder: Path) -> Case:
    document = yaml.load((folder / "case.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
    kind, _, _ = folder.name.partition("-")
    assert kind in {"catches", "passes"}, folder
    return Case(
        check=folder.parent.name,
        name=f"{folder.parent.name}/{folder.name}",
        catches=kind == "catches",
        expectation=_expectation(document.pop("expectation"), document.pop("memory", None)),
        base=document.pop("base"),
        plus=tuple(document.pop("plus", ())),
        change=document.pop("change", None),
        expect=document.pop("expect"),
        says=document.pop("says"),
    )


def _expectation(name: str, memory: str | None) -> Expectation:
    return replace(EXPECTATIONS[name], memory=parse(memory)) if memory else EXPECTATIONS[name]


CASES = tuple(read(path.parent) for path in sorted(ROOT.glob("*/*/case.yaml")))
