"""The software part of the probe's JSON to facts."""

from __future__ import annotations

import json

from envbuilder.core.json_input import load_object
from envbuilder.diagnostics.facts.software import CudaFile, Distribution, SoftwareFacts, TensorFlowFiles
from envbuilder.diagnostics.probe.json_fields import Item, printable


def software(item: Item) -> SoftwareFacts:
    """Return the installed software."""
    return SoftwareFacts(
        distributions=tuple(_distribution(entry) for entry in item["distributions"].items()),
        tensorflow=item["tensorflow"].maybe(_tensorflow),
        files=tuple(_file(entry) for entry in item["libraries"].items()),
        conda=item["conda"].text(),
    )


def without_software(document: bytes, why: str) -> bytes:
    """Return the probe's document with a reason in the place of the installed software.

    Args:
        document: What the probe printed.
        why: Why nothing is known of the software that was meant.
    """
    whole = load_object(document, surrogates=True)
    error = {"type": "NotFound", "message": why, "trace": []}
    facts = Item(whole)["facts"].mapping()
    whole["facts"] = {**facts, "software": {"ok": False, "seconds": 0.0, "error": error}}
    return (json.dumps(whole, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def build_info(item: Item) -> tuple[tuple[str, str], ...]:
    """Return what a TensorFlow tells of its build, sorted by name; a list becomes one text."""
    return tuple((name, _shown(value)) for name, value in item.members())


def _shown(item: Item) -> str:
    if isinstance(item.value, list):
        return ", ".join(
            printable(str(entry.value)) for entry in item.items() if not isinstance(entry.value, list | dict)
        )
    return printable(str(item.value)) if isinstance(item.value, str | int | bool) else ""


def _distribution(item: Item) -> Distribution:
    return Distribution(
        name=item["name"].text(),
        version=item["version"].text(),
        folder=item["folder"].text(),
        requires=_texts(item["requires"]),
        modules=_texts(item["modules"]),
    )


def _tensorflow(item: Item) -> TensorFlowFiles:
    return TensorFlowFiles(
        folder=item["folder"].text(),
        info=build_info(item["info"]),
        keras=item["keras"].text(),
        needed=_texts(item["needed"]),
    )


def _file(item: Item) -> CudaFile:
    return CudaFile(
        name=item["name"].text(), path=item["path"].text(), real=item["real"].text(), via=item["via"].text()
    )


def _texts(item: Item) -> tuple[str, ...]:
    return tuple(entry.text() for entry in item.items())
