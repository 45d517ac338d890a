"""Surroundings beside the facts in one document: written with `doctor -o`, and read back."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TypeVar

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.json_input import BadJson, load_json, load_object
from envbuilder.diagnostics.host.environment import (
    CaBundle,
    EngineAnswers,
    EngineSilent,
    Silence,
    SourceKind,
    SourceSeen,
    Surroundings,
)
from envbuilder.diagnostics.probe.json_fields import Item, WrongField

KEY = "surroundings"
E = TypeVar("E", bound=StrEnum)


def with_surroundings(document: bytes, surroundings: Surroundings | None) -> bytes:
    """The probe's document, with what stands around in a field of its own.

    Args:
        document: What the probe printed.
        surroundings: None leaves the document as it is.
    """
    if surroundings is None:
        return document
    whole = load_object(document, surrogates=True)
    whole[KEY] = surroundings_document(surroundings)
    return (json.dumps(whole, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def surroundings_document(seen: Surroundings) -> dict[str, object]:
    """Surroundings as JSON."""
    return {
        "engine": _engine_document(seen.engine),
        "sandbox": {"name": seen.sandbox, "why_not": seen.why_no_sandbox},
        "sources": [
            {
                "kind": source.kind.value,
                "host": source.host,
                "chosen": source.chosen,
                "silence": source.silence.value if source.silence else None,
                "status": source.status,
                "seconds": source.seconds,
                "proxied": source.proxied,
            }
            for source in seen.sources
        ],
        "unnamed": [kind.value for kind in seen.unnamed],
        "ca_bundles": [
            {"variable": each.variable, "path": each.path, "readable": each.readable} for each in seen.ca_bundles
        ],
        "proxies": dict(seen.proxies),
        "limit": seen.limit,
    }


def _engine_document(engine: EngineAnswers | EngineSilent) -> dict[str, object]:
    if isinstance(engine, EngineSilent):
        return {"answers": False, "why": engine.why, "remedy": engine.remedy, "denied": engine.denied}
    return {
        "answers": True,
        "version": engine.version,
        "api": engine.api,
        "storage": engine.storage,
        "buildkit": engine.buildkit,
        "gpus": engine.gpus,
        "root": engine.root,
        "root_free": engine.root_free,
        "rootless": engine.rootless,
        "context": engine.context,
    }


def decode_surroundings(document: str | bytes, origin: str) -> Surroundings | None:
    """Read the surroundings of a document of facts.

    Args:
        document: The same that `decode` reads.
        origin: Where it comes from; names the file in a fault.

    Returns:
        None when the document has none.

    Raises:
        InvalidInput: They are not what this version writes.
    """
    try:
        found = Item(load_json(document, surrogates=True))[KEY]
        return None if found.value is None else _surroundings(found)
    except BadJson as error:
        raise InvalidInput((Fault(file=origin, line=0, field="", problem=f"is not JSON: {error}"),)) from error
    except WrongField as error:
        fault = Fault(file=origin, line=0, field=error.path, problem=error.problem)
        raise InvalidInput((fault,), hint="run `envbuilder doctor -o facts.json` there again") from error


def _surroundings(item: Item) -> Surroundings:
    sandbox = item["sandbox"]
    return Surroundings(
        engine=_engine(item["engine"]),
        sandbox=sandbox["name"].text(),
        why_no_sandbox=sandbox["why_not"].text(),
        sources=tuple(_source(entry) for entry in item["sources"].items()),
        unnamed=tuple(_choice(entry, SourceKind) for entry in item["unnamed"].items()),
        ca_bundles=tuple(
            CaBundle(variable=each["variable"].text(), path=each["path"].text(), readable=each["readable"].flag())
            for each in item["ca_bundles"].items()
        ),
        proxies=tuple((name, value.text()) for name, value in item["proxies"].members()),
        limit=item["limit"].number() or 0.0,
    )


def _engine(item: Item) -> EngineAnswers | EngineSilent:
    if not item["answers"].flag():
        return EngineSilent(why=item["why"].text(), remedy=item["remedy"].text(), denied=item["denied"].flag())
    return EngineAnswers(
        version=item["version"].text(),
        api=item["api"].text(),
        storage=item["storage"].text(),
        buildkit=item["buildkit"].flag(),
        gpus=item["gpus"].flag(),
        root=item["root"].text(),
        root_free=item["root_free"].maybe(Item.integer),
        rootless=item["rootless"].flag(),
        context=item["context"].text(),
    )


def _source(item: Item) -> SourceSeen:
    return SourceSeen(
        kind=_choice(item["kind"], SourceKind),
        host=item["host"].text(),
        chosen=item["chosen"].text(),
        silence=item["silence"].maybe(lambda entry: _choice(entry, Silence)),
        status=item["status"].maybe(Item.integer),
        seconds=item["seconds"].number() or 0.0,
        proxied=item["proxied"].flag(),
    )


def _choice(item: Item, choices: type[E]) -> E:
    try:
        return choices(item.text())
    except ValueError as error:
        raise WrongField(item.path, f"is none of {', '.join(choices)}") from error
