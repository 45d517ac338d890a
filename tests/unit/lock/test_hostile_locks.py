"""Whatever a stranger writes into one field of a lock is refused with its line, or stays text."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePosixPath

from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.image.dockerfile.build_context import render
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump, load
from tests.fakes.catalogs import TEMPLATES, good_lock

LINES = dump(good_lock()).splitlines()
TEXTS = [number for number, line in enumerate(LINES) if re.search(r'"[^"\\]*"$', line)]
NUMBERS = [number for number, line in enumerate(LINES) if re.search(r": -?[0-9]+$", line)]
HOSTILE = st.sampled_from(
    [
        "",
        ".",
        "..",
        "../../x",
        "/etc/x",
        "-x",
        "a b",
        "a;id",
        "$(id)",
        "`id`",
        "a\\nRUN id",
        "\\e[2J",
        "x" * 5000,
        "9" * 50,
    ]
) | st.text(st.characters(max_codepoint=0x2FF, exclude_categories=("Cc", "Cs"), exclude_characters='"\\'), max_size=8)


def spoilt(number: int, pattern: str, value: str) -> str:
    line = re.sub(pattern, lambda _: value, LINES[number])
    return "\n".join([*LINES[:number], line, *LINES[number + 1 :]]) + "\n"


def read(text: str) -> Lock | tuple[Fault, ...]:
    try:
        return load(text, "envbuilder.lock")
    except InvalidInput as error:
        return error.faults


@given(st.sampled_from(TEXTS), HOSTILE)
@settings(max_examples=40, deadline=None)
def test_no_text_becomes_a_path_an_instruction_or_a_traceback(number: int, value: str) -> None:
    lock = read(spoilt(number, r'"[^"\\]*"$', f'"{value}"'))
    if not isinstance(lock, Lock):
        assert all(fault.line for fault in lock)
        return
    files = render(plan(lock, digest(lock)), dump(lock), TEMPLATES)
    names = [*(file.path for file in files.texts), *(file.path for file in files.attachments)]
    paths = [PurePosixPath(name) for name in names]
    assert not [path for path in paths if path.is_absolute() or ".." in path.parts]
    assert files.texts[0].text.startswith("# Rendered by envbuilder from the lock beside this file")


@given(st.sampled_from(NUMBERS), st.integers(-(2**70), 2**70).map(str) | st.sampled_from(["1e400", "9" * 5000, "0x10"]))
@settings(max_examples=40, deadline=None)
def test_no_number_becomes_a_traceback(number: int, value: str) -> None:
    with suppress(InvalidInput):
        lock = load(spoilt(number, r"-?[0-9]+$", value), "envbuilder.lock")
        render(plan(lock, digest(lock)), dump(lock), TEMPLATES)
