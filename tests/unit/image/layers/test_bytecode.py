"""What the interpreter of an image answers becomes bytecode of its sources, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import IO, cast

import pytest

from envbuilder.core.errors import ToolFailed
from envbuilder.image.layers.bytecode import bytecode
from envbuilder.image.layers.entries import Entry, text
from envbuilder.image.layers.image_python import TargetPython


class Liar:
    """An interpreter that answers whatever it likes."""

    series = "3.8"

    def __init__(self, says: bytes) -> None:
        self._says = says

    def run(self, _arguments: list[str], *, given: IO[bytes], answer: IO[bytes]) -> None:
        assert given.read()
        answer.write(self._says)
        answer.flush()


def compiled(says: bytes, work: Path) -> list[Entry]:
    with bytecode([text("opt/a.py", b"1")], cast("TargetPython", Liar(says)), work) as entries:
        assert [entry.member.read() for entry in entries] == [b"code"] * len(entries)
        return entries


def test_an_answer_is_bytecode_of_its_source(tmp_path: Path) -> None:
    assert [entry.path for entry in compiled(b"9 4\n/opt/a.pycode", tmp_path)] == ["opt/__pycache__/a.cpython-38.pyc"]


@pytest.mark.parametrize(
    "says",
    [
        b"9 4\n/opt/b.pycode",
        b"15 4\n/../../etc/a.pycode",
        b"9 4000000000\n/opt/a.pycode",
        b"9" * 5000 + b" 4\n/opt/a.pycode",
        b"hello\n",
    ],
    ids=["another", "outside", "longer", "digits", "words"],
)
def test_an_answer_that_was_not_asked_for_is_refused(tmp_path: Path, says: bytes) -> None:
    with pytest.raises(ToolFailed, match="the image's Python returned"):
        compiled(says, tmp_path)
