"""No value can become more than a value."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from envbuilder.core import image_layout
from envbuilder.image.dockerfile.templates import double_quoted, environment, one_line, shell_word

TEMPLATES = Path(__file__).parents[4] / "templates"
PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
CONTROLS = [chr(code) for code in (*range(32), 127)]


@given(PRINTABLE)
def test_a_shell_word_splits_into_itself(text: str) -> None:
    assert shlex.split(shell_word(text)) == [text]


@given(PRINTABLE)
def test_a_double_quoted_value_reads_back_and_expands_nothing(text: str) -> None:
    quoted = double_quoted(text)
    inner = quoted[1:-1]
    assert quoted == f'"{inner}"'
    assert unescaped(inner) == text


def unescaped(inner: str) -> str:
    """What BuildKit makes of the inside of a double-quoted word; fails on what it would expand or end at."""
    letters = iter(inner)
    text = ""
    for letter in letters:
        assert letter not in '"$', inner
        text += next(letters) if letter == "\\" else letter
    return text


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("quote", [one_line, shell_word, double_quoted])
def test_a_control_character_is_refused_and_not_repaired(quote: object, control: str) -> None:
    assert callable(quote)
    with pytest.raises(ValueError, match="a control character"):
        quote(f"a{control}RUN b")


def test_a_value_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.j2").write_text("{{ plan.nothing | sh }}", encoding="utf-8")
    with pytest.raises(UndefinedError):
        environment(tmp_path).get_template("x.j2").render(plan=object())


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.j2")), ids=lambda path: path.name)
def test_templates_take_the_paths_of_an_image_from_one_place(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    paths = [value for name, value in vars(image_layout).items() if name.isupper()]
    assert not [path for path in [*paths, "home/"] if f"/{path}" in text]
