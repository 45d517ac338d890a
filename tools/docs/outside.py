"""Pages that would load something from another host."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
"""Attribute of each element whose address a browser loads without being asked."""
_NOT_LOADED = ("canonical", "next", "prev", "alternate")
"""Kinds of `link` that only state an address."""


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get(_LOADING.get(tag, "")) or ""
        if address.startswith(("http:", "https:", "//")) and values.get("rel") not in _NOT_LOADED:
            self.found.append(address)


def loaded_from_elsewhere(site: Path) -> Iterator[tuple[str, str]]:
    """Yield each page of a site, and an address on another host that a browser would load with it."""
    for page in sorted(site.rglob("*.html")):
        loads = _Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        yield from ((page.relative_to(site).as_posix(), address) for address in loads.found)
