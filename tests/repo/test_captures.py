"""Every command is looked at in a terminal: tools/captures/commands.txt names it."""

from __future__ import annotations

import re

import pytest

from tests.command_tree import commands
from tools.captures.listed import listed

LINES = [line for _, line in listed()]


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_is_captured(name: str) -> None:
    assert any(re.search(rf"\benvbuilder {name}\b", line) for line in LINES)
