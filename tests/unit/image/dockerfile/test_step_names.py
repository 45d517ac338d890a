"""Every step of every rendered Dockerfile has a title that says what it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envbuilder.image.dockerfile.step_names import step_title

GOLDEN = Path(__file__).parents[3] / "golden" / "images"
DOCKERFILES = sorted(GOLDEN.glob("**/Dockerfile*"))


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_every_command_has_a_title_of_its_own(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"^(?:RUN|COPY) .*$", text, flags=re.MULTILINE)
    titles = [step_title(command) for command in commands]
    assert commands
    for command, title in zip(commands, titles, strict=True):
        assert "/" not in title, command


def test_the_place_of_a_step_is_kept() -> None:
    step = "[image 2/5] RUN --mount=x uv pip install --requirements /run/envbuilder/framework.tensorflow.txt"
    assert step_title(step) == "[image 2/5] tensorflow"
    assert step_title("[internal] load remote build context") == "context"


def test_a_step_that_is_not_ours_keeps_its_words() -> None:
    assert step_title("exporting to image") == "exporting to image"
    assert len(step_title("x" * 500)) <= 88
