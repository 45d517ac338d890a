"""The index as uv tells it: every file of a release, and what is left of a closure."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import NotOnIndex, SourceUnreachable, ToolFailed
from envbuilder.core.uv import Uv
from envbuilder.core.versions import Release
from envbuilder.lock.closures import Answer, Chosen, Closure
from envbuilder.lock.index.uv_index import UvIndex, _files
from tests.fakes.index_uv import IndexUv, index_uv

SIX = ("six-1.16.0-py2.py3-none-any.whl", "1" * 64)
OLD = ("wrapt-1.12.1.tar.gz", "2" * 64)
TOOL = ("setuptools-75.3.0-py3-none-any.whl", "3" * 64)
RELEASES = {"six==1.16.0": [SIX], "wrapt==1.12.1": [OLD], "setuptools==75.3.0": [TOOL]}


def chosen(name: str, version: str, file: tuple[str, str]) -> Chosen:
    return Chosen(name=name, version=version, file=file[0], sha256=file[1])


CLOSURE = Closure(
    python=Release("3.8"),
    answers=(Answer(base="debian", request="sha256:" + "0" * 64),),
    packages=(chosen("six", "1.16.0", SIX), chosen("wrapt", "1.12.1", OLD)),
    build=(chosen("setuptools", "75.3.0", TOOL),),
)


def index(uv: IndexUv, folder: Path) -> UvIndex:
    return UvIndex(uv=Uv(program=uv.path, cache=folder / "cache", environ={"PATH": "/usr/bin:/bin"}))


def test_a_release_lists_all_its_files_by_name(tmp_path: Path) -> None:
    second = ("six-1.16.0-cp27-none-any.whl", "4" * 64)
    uv = index_uv(tmp_path, {"six==1.16.0": [SIX, second]})
    found = index(uv, tmp_path).files("six", "1.16.0")
    assert [(each.file, each.sha256) for each in found] == [second, SIX]
    assert found[0].url == f"https://files.example/{second[0]}"


def test_a_release_for_younger_pythons_is_found_too(tmp_path: Path) -> None:
    uv = index_uv(tmp_path, {"six==1.16.0": [SIX]}, oldest={"six==1.16.0": "3.9"})
    assert len(index(uv, tmp_path).files("six", "1.16.0")) == 1
    assert [call[call.index("--python-version") + 1] for call in uv.calls] == ["3.6", "3.7", "3.8", "3.9"]


def test_a_release_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert index(index_uv(tmp_path, {}), tmp_path).files("six", "9") == ()


def test_a_closure_is_asked_for_in_two_questions_past_the_cache(tmp_path: Path) -> None:
    uv = index_uv(tmp_path, RELEASES)
    assert index(uv, tmp_path).still_there(CLOSURE) == {SIX, OLD, TOOL}
    assert len(uv.calls) == 2
    assert all("--refresh" in call for call in uv.calls)
    assert uv.calls[0][uv.calls[0].index("--no-binary") + 1] == "wrapt"


def test_what_is_left_is_found_when_something_is_gone(tmp_path: Path) -> None:
    uv = index_uv(tmp_path, {pin: files for pin, files in RELEASES.items() if not pin.startswith("wrapt")})
    assert index(uv, tmp_path).still_there(CLOSURE) == {SIX, TOOL}


def test_an_index_that_does_not_answer_is_no_missing_file(tmp_path: Path) -> None:
    uv = index_uv(tmp_path, {}, failure="error sending request for url")
    with pytest.raises(SourceUnreachable, match="does not answer"):
        index(uv, tmp_path).files("six", "1.16.0")
    with pytest.raises(SourceUnreachable, match="does not answer"):
        index(uv, tmp_path).still_there(CLOSURE)


def test_a_file_of_the_index_has_no_path_for_a_name() -> None:
    for name in ("../../x.whl", "a/b.whl", ".hidden.whl", "x\0.whl"):
        wheel = {"name": name, "url": "https://files.example/x", "hashes": {"sha256": "a" * 64}}
        with pytest.raises(ToolFailed, match="unknown format"):
            list(_files({"packages": [{"wheels": [wheel]}]}))


def test_entries_of_other_types_are_no_files() -> None:
    odd = [5, {"wheels": "x"}, {"wheels": [{"hashes": "x", "url": "u"}]}, {"sdist": [1]}]
    assert list(_files({"packages": odd})) == []
    assert list(_files({"packages": "x"})) == []


def test_files_that_the_index_lacks_are_named_together(tmp_path: Path) -> None:
    with pytest.raises(NotOnIndex, match="does not have wrapt") as caught:
        index(index_uv(tmp_path, {"six==1.16.0": [SIX]}), tmp_path).locate(CLOSURE.packages, "3.8")
    assert caught.value.files == (OLD[0],)
