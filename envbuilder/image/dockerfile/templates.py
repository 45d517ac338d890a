"""The Jinja environment: strict, without extra white space, and with filters that quote every value."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from envbuilder.core import image_layout
from envbuilder.lock.container_settings import duration_text, words_text


@cache
def environment(folder: Path) -> Environment:
    """Return the environment for the templates in a directory, with each template compiled once.

    Filters: `sh` quotes for a shell word, `double` for a double-quoted Dockerfile value, `words` for the command of a
    Dockerfile instruction, `text` for YAML; `plain` refuses everything that is not safe on a comment line.

    Values: `paths`, `home(account)` and `site_packages(series)` return paths in an image, absolute.
    """
    made = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  the output is a Dockerfile, not HTML; every value passes one of our filters
    )
    made.globals["paths"] = {name.lower(): f"/{path}" for name, path in vars(image_layout).items() if name.isupper()}
    made.globals["home"] = lambda account: f"/{image_layout.home(account)}"
    made.globals["site_packages"] = lambda series: f"/{image_layout.site_packages(series)}"
    made.filters["duration"] = duration_text
    made.filters["sh"] = shell_word
    made.filters["double"] = double_quoted
    made.filters["text"] = yaml_text
    made.filters["words"] = json_words
    made.filters["plain"] = one_line
    return made


def one_line(value: object) -> str:
    """Return the value unchanged.

    Raises:
        ValueError: It has a line end or another control character, which could start another instruction.
    """
    text = str(value)
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError(f"a control character in {text!r} cannot be rendered")
    return text


def shell_word(value: object) -> str:
    """Return one word for a POSIX shell; `shlex.split` returns the value."""
    return shlex.quote(one_line(value))


def double_quoted(value: object) -> str:
    """Return a double-quoted value of a Dockerfile instruction, in which nothing is expanded."""
    text = one_line(value)
    for character in ("\\", '"', "$"):
        text = text.replace(character, f"\\{character}")
    return f'"{text}"'


def json_words(value: tuple[str, ...]) -> str:
    """Return the JSON form of a command in a Dockerfile instruction, which no shell reads."""
    return one_line(words_text(value))


def yaml_text(value: object) -> str:
    """Return a text in the quotes of YAML, which are those of JSON."""
    return json.dumps(one_line(value), ensure_ascii=False)
