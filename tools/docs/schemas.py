"""The page of documents, and their JSON Schemas as files of the site."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from envbuilder.cli.documents.schemas import DOCUMENTS
from tools.docs.markdown import plain, table

PAGE = "schemas.md"
_FOLDER = "schemas"


def schema_pages() -> Mapping[str, str]:
    """Return the page and the schemas by their paths in the site."""
    schemas = {
        _path(name): json.dumps(document.schema(), indent=2, ensure_ascii=False) + "\n"
        for name, document in DOCUMENTS.items()
    }
    return {PAGE: "\n".join(_lines()).rstrip() + "\n", **schemas}


def _lines() -> Iterator[str]:
    yield "# Documents"
    yield ""
    yield "The JSON Schema (draft 2020-12) of each document that envbuilder reads or prints. `envbuilder schema`"
    yield "prints them. Within schema 1 of a document, fields may be added; none is removed or changes its meaning."
    yield ""
    rows = ((f"[`{name}`]({_path(name)})", plain(document.title)) for name, document in DOCUMENTS.items())
    yield from table(("Name", "Document"), rows)


def _path(name: str) -> str:
    return f"{_FOLDER}/{name.replace(' ', '-')}.json"
