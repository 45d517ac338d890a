"""What commands print with `--json` has the schema that is published for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from envbuilder.cli.documents.schemas import DOCUMENTS
from envbuilder.cli.main import SECTIONS

_VERBS = {name for commands in SECTIONS.values() for name in commands}
ERROR = "error"
OPEN = ("facts", "fleet check", "multi-node", "validate")
"""Documents whose schemas are not closed for tests: facts have unknown fields, those of reports have conditions."""


@cache
def validator(name: str) -> Any:  # noqa: ANN401  the package has no types
    """Return the validator of a document; its import takes seconds, which only tests of documents are to cost."""
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415

    schema = DOCUMENTS[name].schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema if name in OPEN else _closed(schema))


def _closed(schema: Any) -> Any:  # noqa: ANN401  a part of a schema
    """Return a schema that refuses unknown fields, which a program has to ignore: a later version may have them."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    return {"additionalProperties": False} | inner if isinstance(schema.get("properties"), dict) else inner


def faults(name: str, document: object) -> list[str]:
    """Return where a document differs from its schema, and how."""
    return [f"{error.json_path}: {error.message}"[:400] for error in validator(name).iter_errors(document)]


def refuse_other_documents(arguments: Sequence[str], printed: str) -> None:
    """Fail if a command with `--json` printed something that its schema does not describe."""
    if "--json" not in arguments or not printed.strip():
        return
    verb = next((place for place, word in enumerate(arguments) if word in _VERBS), None)
    if verb is None:
        return
    document = json.loads(printed)
    two = " ".join(arguments[verb : verb + 2])
    name = ERROR if set(document) == {"schema", "error"} else two if two in DOCUMENTS else arguments[verb]
    assert faults(name, document) == [], name
