"""The navigation of the site: that of `docs/mkdocs.yml`, with the pages of each directory that it names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

NAVIGATION = "nav"


class _Loader(yaml.SafeLoader):
    """Reads a file of mkdocs, whose objects of Python are left out: nothing of it is executed."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def navigation(config: Path, pages: Path, order: Collection[str]) -> list[Any]:
    """Return the entries for mkdocs.

    Args:
        config: `docs/mkdocs.yml`.
        pages: Directory of all pages.
        order: Paths of generated pages in their order; other pages are in the order of their names.
    """
    found = yaml.load(config.read_text(encoding="utf-8"), _Loader)  # noqa: S506  a safe loader
    places = {page: place for place, page in enumerate(order)}
    named = set(_leaves(found[NAVIGATION]))

    def expanded(entry: Any) -> Iterator[Any]:  # noqa: ANN401  text, mapping or list, as in the file
        if isinstance(entry, str) and entry.endswith("/"):
            inside = {file.relative_to(pages).as_posix() for file in (pages / entry).glob("*.md")} - named
            yield from sorted(inside, key=lambda page: (not page.endswith("README.md"), places.get(page, 0), page))
        elif isinstance(entry, dict):
            yield {
                title: [each for part in parts for each in expanded(part)] if isinstance(parts, list) else parts
                for title, parts in entry.items()
            }
        else:
            yield entry

    return [each for entry in found[NAVIGATION] for each in expanded(entry)]


def _leaves(entry: Any) -> Iterator[str]:  # noqa: ANN401  text, mapping or list, as in the file
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from _leaves(each)
