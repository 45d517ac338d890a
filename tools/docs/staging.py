"""The pages of the site in one directory: those of `docs/`, copies of others, and generated ones."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

HOME = "index.md"
COPIED = {
    "README.md": HOME,
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages above `docs/`, and their paths in the site."""
REPOSITORY = "repository"
"""Directory of the site with other files of the repository that pages link to."""
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!\w+:)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FULL_WIDTH = "---\nhide: [navigation]\n---\n\n"
_INFO = re.compile(r"\A(```\w+) [^\n]*")
"""Language of a block, and words after it, which are for the tests: Markdown for Python knows none."""
_FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def stage(root: Path, target: Path, generated: Mapping[str, str]) -> None:
    """Write all pages of the site.

    Args:
        root: The repository.
        target: Directory for the pages; replaced if it exists.
        generated: Further pages by their paths in the site.
    """
    if target.exists():
        shutil.rmtree(target)
    for source, page in _pages(root):
        place = target / page
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = relinked(root, target, source, page)
            place.write_text(_FULL_WIDTH + text if page == HOME else text, encoding="utf-8")
        elif source.name != "mkdocs.yml":
            shutil.copyfile(source, place)
    for page, text in generated.items():
        place = target / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _pages(root: Path) -> Iterator[tuple[Path, str]]:
    yield from ((root / name, page) for name, page in COPIED.items())
    docs = root / "docs"
    yield from ((file, str(file.relative_to(docs))) for file in sorted(docs.rglob("*")) if file.is_file())


def relinked(root: Path, target: Path, source: Path, page: str) -> str:
    """Return the text of a page whose links lead to the same documents within the site.

    A file that is no page of the site is copied into it. A link whose text is a path gets the title of its page.

    Args:
        root: The repository.
        target: Directory of the pages.
        source: File of the page.
        page: Its path in the site.
    """

    def moved(found: re.Match[str]) -> str:
        meant = Path(os.path.normpath(source.parent / found["path"]))
        place = posixpath.relpath(_place(root, target, meant), posixpath.dirname(page) or ".")
        title = _TITLE.search(meant.read_text(encoding="utf-8")) if found["text"].endswith(".md") else None
        return f"[{title[1] if title else found['text']}]({place}{found['anchor'] or ''})"

    parts = _FENCE.split(source.read_text(encoding="utf-8"))
    return "".join(_INFO.sub(r"\1", part) if part.startswith("```") else _LINK.sub(moved, part) for part in parts)


def _place(root: Path, target: Path, file: Path) -> str:
    """Return the path in the site of a file of the repository."""
    path = file.relative_to(root).as_posix()
    if path in COPIED:
        return COPIED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if file.is_file():
        place = target / REPOSITORY / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    # A link that leads nowhere stays: the build of the site reports it.
    return f"{REPOSITORY}/{path}"
