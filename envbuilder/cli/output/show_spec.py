"""A spec in the output of `show`: its values, each with the file and line that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from envbuilder.catalog.environments import Catalog
from envbuilder.cli.documents import locks as documents
from envbuilder.cli.output.printing import heading, table
from envbuilder.core.structure import document_of
from envbuilder.lock.layered_specs import Origin, SpecLayer, origins


def spec_document(layers: Sequence[SpecLayer], catalog: Catalog) -> dict[str, Any]:
    """Return the values as JSON.

    `layers` are the files of the spec, the most general first.
    """
    return document_of(
        documents.ShownSpec,
        None,
        spec=layers[-1].title,
        files=[layer.title for layer in layers],
        catalogs=[{"name": team.name, "commit": team.place.commit or None} for team in catalog.teams],
        values=origins(tuple(layers)),
    )


def spec_lines(layers: Sequence[SpecLayer], catalog: Catalog) -> Iterator[str]:
    """Yield the values as lines of text; arguments as for `spec_document`."""
    yield heading(layers[-1].title)
    for layer in reversed(layers[:-1]):
        yield f"  extends {layer.title}"
    for team in catalog.teams:
        yield f"  catalog {team}"
    yield ""
    yield table(("FIELD", "VALUE", "FROM"), [_row(each) for each in origins(tuple(layers))])


def _row(origin: Origin) -> tuple[str, str, str]:
    return origin.field, str(origin.value), f"{origin.file}:{origin.line}"
