"""See commands as a terminal shows them: `python -m tools.captures DIRECTORY [--only WORDS] [--in PROJECT]`.

Each command of `commands.txt` runs in tmux, in terminals of 80 and 120 columns, in a directory with a project, locks,
facts and logs. The page `index.html` has the captures on a dark and on a light background, `index.txt` their text;
where Chromium is installed, sheets `080-001.png` … show several each. At the end, tracebacks and lines that the
terminal had to break are listed: a command folds its lines itself, except those that are to be copied.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.contract.registry import serve
from tools.captures.listed import REGISTRY, listed
from tools.captures.pages import page, write_sheets
from tools.captures.project import write_project
from tools.captures.terminals import Capture, captured

_COLUMNS = (80, 120)


def main() -> None:
    """Capture commands, and write the page.

    Raises:
        SystemExit: A command ended with a traceback, or a line was longer than the terminal.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--commands", type=Path, help="other file with one command on each line")
    parser.add_argument("--only", default="", help="only commands and sections that contain this")
    parser.add_argument("--in", dest="project", type=Path, help="keep the project in this directory, and use it again")
    parser.add_argument("--columns", type=int, action="append")
    given = parser.parse_args()
    # The command of this virtual environment.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with ExitStack() as stack:
        project = given.project or Path(stack.enter_context(TemporaryDirectory(prefix="envbuilder-captures-")))
        write_project(project)
        registry = stack.enter_context(serve(Path(stack.enter_context(TemporaryDirectory()))))
        captures = []
        for section, line in listed(given.commands, given.only):
            for columns in given.columns or _COLUMNS:
                captures.append(captured(section, line.replace(REGISTRY, registry), columns, project.resolve()))
                print(f"{columns:4} {line}", file=sys.stderr)
    given.directory.mkdir(parents=True, exist_ok=True)
    (given.directory / "index.html").write_text(page(captures), encoding="utf-8")
    (given.directory / "index.txt").write_text("\n".join(map(_plain, captures)), encoding="utf-8")
    write_sheets(given.directory, captures)
    faults = list(_faults(captures))
    if faults:
        sys.exit("\n".join(faults))


def _faults(captures: list[Capture]) -> Iterator[str]:
    for each in captures:
        if each.is_crash:
            yield f"{each.columns} columns: {each.command}: traceback"
        for line in each.broken:
            yield f"{each.columns} columns: {each.command}: {line}"


def _plain(capture: Capture) -> str:
    rule = "=" * capture.columns
    return f"{rule}\n$ {capture.command}\n{rule}\n{capture.plain}\n"


if __name__ == "__main__":
    main()
