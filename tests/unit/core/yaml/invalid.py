"""Read the cases of tests/data/invalid: a bad input each, and every fault that it must get.

A whole document (`.yaml`) begins with lines `# expect: FAULT`. A patch (`.patch`) says which good file it spoils
(`file:`) and the faults (`expect:`); after an empty line follow lines to find in that file: ` ` keeps one, `-` takes
one away, `+` adds one; after a further empty line further lines. What is expected is the beginning of the fault as a
user sees it, the folder left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[3] / "data"
INVALID = DATA / "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    file: str
    expect: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    def apply(self, text: str) -> str:
        """The good file, spoilt."""
        for hunk in self.hunks:
            assert text.count(hunk.old) == 1, f"the lines must stand in {self.file} exactly once:\n{hunk.old}"
            text = text.replace(hunk.old, hunk.new)
        return text


def cases(folder: str) -> list[str]:
    return sorted(path.name for path in (INVALID / folder).iterdir())


def read_patch(path: Path) -> Patch:
    head, *bodies = path.read_text(encoding="utf-8").split("\n\n")
    words = [line.partition(": ") for line in head.splitlines()]
    return Patch(
        file=next(value for name, _, value in words if name == "file"),
        expect=tuple(value for name, _, value in words if name == "expect"),
        hunks=tuple(_hunk(body) for body in bodies),
    )


def _hunk(body: str) -> Hunk:
    lines = [f"{line}\n" for line in body.splitlines()]
    assert all(line[0] in " -+" for line in lines), body
    return Hunk(
        old="".join(line[1:] for line in lines if line[0] in " -"),
        new="".join(line[1:] for line in lines if line[0] in " +"),
    )


def expectations(text: str) -> tuple[str, ...]:
    """What the comments of a whole document expect."""
    return tuple(line.removeprefix("# expect: ") for line in text.splitlines() if line.startswith("# expect: "))


def assert_faults(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Every fault was expected, in this order, and every expected one was found."""
    assert expected, "a case must expect something"
    shown = "\n".join(found)
    assert len(found) == len(expected), shown
    for fault, beginning in zip(found, expected, strict=True):
        assert fault.startswith(beginning), shown
