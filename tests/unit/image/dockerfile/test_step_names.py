"""Titles of build steps; `test_every_environment.py` compares them with every rendered Dockerfile."""

from __future__ import annotations

from envbuilder.image.dockerfile.step_names import step_title


def test_the_place_of_a_step_is_kept() -> None:
    step = "[image 2/5] RUN --mount=x uv pip install --requirements /run/envbuilder/framework.tensorflow.txt"
    assert step_title(step) == "[image 2/5] tensorflow"
    assert step_title("[internal] load remote build context") == "context"


def test_a_step_that_is_not_ours_keeps_its_words() -> None:
    assert step_title("exporting to image") == "exporting to image"
    assert len(step_title("x" * 500)) <= 88
