"""What has vanished from the index is named, file by file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.versions import Release
from envbuilder.curation.availability import availability
from envbuilder.lock.closures import Answer, Chosen, Closure
from envbuilder.lock.index.index import IndexFile
from tests.fakes.index import FakeIndex
from tests.fakes.resolver import chosen

SIX, NUMPY = chosen("six", "1.16.0"), chosen("numpy", "1.19.5")
TOOL = chosen("setuptools", "75.3.0")
CLOSURE = Closure(
    python=Release("3.8"),
    answers=(Answer(base="debian", request="sha256:" + "0" * 64),),
    packages=(NUMPY, SIX),
    build=(TOOL,),
)


def index(*files: Chosen) -> FakeIndex:
    return FakeIndex(
        {
            (each.name, each.version): [IndexFile(file=each.file, sha256=each.sha256, url="https://files.example/x")]
            for each in files
        }
    )


def test_a_row_with_all_its_files_is_complete() -> None:
    found = availability("row", (CLOSURE,), index(SIX, NUMPY, TOOL))
    assert found.complete
    assert (found.closures, found.files) == (1, 3)


def test_a_file_that_is_gone_is_named_with_its_interpreter_and_bases() -> None:
    found = availability("row", (CLOSURE,), index(SIX, TOOL))
    assert not found.complete
    assert [(each.file, each.python, each.bases, each.replaced) for each in found.vanished] == [
        (NUMPY, "3.8", ("debian",), False)
    ]


def test_a_file_with_another_hash_was_replaced() -> None:
    found = availability("row", (CLOSURE,), index(SIX, replace(NUMPY, sha256="0" * 64), TOOL))
    assert [(each.file, each.replaced) for each in found.vanished] == [(NUMPY, True)]


def test_build_tools_are_asked_for_too() -> None:
    assert [each.file for each in availability("row", (CLOSURE,), index(SIX, NUMPY)).vanished] == [TOOL]


def test_a_file_of_two_closures_counts_once() -> None:
    second = replace(CLOSURE, python=Release("3.9"))
    assert availability("row", (CLOSURE, second), index(SIX, NUMPY, TOOL)).files == 3


def test_a_row_that_ships_nothing_is_not_complete() -> None:
    assert not availability("row", (), index()).complete


def test_an_index_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(SourceUnreachable):
        availability("row", (CLOSURE,), FakeIndex(answers=False))
