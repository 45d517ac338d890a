"""The pages under `docs/tutorials/` are typed as they stand, as far as a machine without a GPU goes.

Blocks marked `console` are typed where no container engine answers, those marked `console engine` where one does.
Blocks marked `gpu` are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_tree import commands
from tests.e2e.conftest import Tool
from tests.interpreters.interpreters import interpreters

PAGES = sorted(
    path for path in (Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md") if path.stem != "README"
)
FENCE = re.compile(r"^```(?P<mark>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NO_ENGINE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
NAME = re.compile(r"demo/[\w.-]+:[\w.-]+")
"""Image names that the pages use; no other image is made in the engine."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a page.

    Attributes:
        command: What is typed.
        seen: What it prints, in order; parts of lines.
        fails: Whether it ends with an error.
    """

    command: str
    seen: tuple[str, ...]
    fails: bool


def blocks(page: Path) -> Iterator[tuple[list[str], str, str]]:
    """Mark, text, and the words before each block."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield found["mark"].split(), found["text"], text[: found.start()].rstrip().rsplit("\n\n", 1)[-1]


def steps(mark: list[str], text: str) -> list[Step]:
    """The commands of a block; only its last one fails where the block is marked so."""
    typed = [part.split("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    seen = [tuple(line.strip() for line in lines[1:] if line.strip() not in {"", "…"}) for lines in typed]
    last = len(typed) - 1
    return [
        Step(command=lines[0], seen=seen[at], fails="fails" in mark and at == last) for at, lines in enumerate(typed)
    ]


def groups(page: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Return the group of a page that uses the engine; the others run beside it."""
    uses_engine = any("engine" in mark for mark, _, _ in blocks(page))
    return (pytest.mark.xdist_group("engine"),) if uses_engine else ()


@pytest.fixture(scope="module")
def environ(tool: Tool) -> Iterator[dict[str, str]]:
    """This checkout's `envbuilder`, its `uv`, every interpreter of pyenv by its name, and the cache of the other tests.

    Images that the pages load into the engine are removed.
    """
    directories = [str(Path(sys.executable).parent), os.environ["PATH"], *(str(path.parent) for path in interpreters())]
    path = os.pathsep.join(directories)
    yield {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", "ENVBUILDER_CACHE": str(tool.cache)}
    for name in sorted({name for page in PAGES for name in NAME.findall(page.read_text(encoding="utf-8"))}):
        subprocess.run(["docker", "rmi", "--force", name], capture_output=True, check=False)


def run(step: Step, folder: Path, environ: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", step.command], cwd=folder, env=environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200, check=False,
    )  # fmt: skip
    printed = done.stdout.decode("utf-8", "replace")
    assert (done.returncode != 0) == step.fails, f"{step.command}: status {done.returncode}\n{printed[-3000:]}"
    rest = printed
    for line in step.seen:
        assert line in rest, f"{step.command}: no {line!r} in\n{printed[-3000:]}"
        rest = rest.split(line, 1)[1]


@pytest.mark.parametrize("page", [pytest.param(page, marks=groups(page), id=page.stem) for page in PAGES])
def test_a_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    tmp_path.chmod(0o777)  # as the pages say, the account of the image must be able to use the directory
    for mark, text, _ in blocks(page):
        if mark[:1] == ["console"] and "gpu" not in mark:
            for step in steps(mark, text):
                run(step, tmp_path, environ if "engine" in mark else {**environ, **NO_ENGINE})
        elif len(mark) == 2:
            (tmp_path / mark[1]).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_what_a_block_needs(page: Path) -> None:
    for mark, _, before in blocks(page):
        for needed, word in (("engine", "Docker"), ("gpu", "GPU")):
            assert needed not in mark or word in before, (
                f"{page.name}: a block needs {word}, the text before it: {before}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_commands_is_run_or_needs_a_gpu(page: Path) -> None:
    typed = [(mark, text) for mark, text, _ in blocks(page) if re.search(r"^\$ ", text, re.MULTILINE)]

    assert all(mark[:1] == ["console"] and set(mark[1:]) <= {"fails", "engine", "gpu"} for mark, _ in typed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_exists(page: Path) -> None:
    typed = [step.command for mark, text, _ in blocks(page) if mark[:1] == ["console"] for step in steps(mark, text)]
    names = [" ".join(command.split()[1:3]) for command in typed if command.startswith("envbuilder ")]

    assert [name for name in names if not {name, name.split()[0]} & set(commands())] == []


def test_the_list_of_pages_is_complete() -> None:
    listed = (PAGES[0].parent / "README.md").read_text(encoding="utf-8")

    assert all(f"({page.name})" in listed for page in PAGES)
