"""Closures survive being written and read, and answer the request that they were made for and no other."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.lock.closures import Answer, Closure
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.shipped_closures import ClosureFolder, dump_closures, load_closures, merged, request_digest
from tests.fakes.resolver import chosen, made_up_sha256
from tests.unit.lock.closures import SHIPPED

ROW = "tf-2.15-cpu"
REQUEST = Resolution(
    python=Release("3.11"),
    glibc=Release("2.36"),
    requirements=("numpy", "tensorflow-cpu==2.15.1"),
    constraints=("numpy<2", "protobuf<5"),
    cutoff=date(2024, 6, 1),
    source_builds=("jax", "termcolor"),
    leave_out=("nvidia-nccl", "triton"),
)
SIX, NUMPY = chosen("six", "1.16.0"), chosen("numpy", "1.26.4")
CHANGED = {
    "python": replace(REQUEST, python=Release("3.10")),
    "glibc": replace(REQUEST, glibc=Release("2.31")),
    "requirements": replace(REQUEST, requirements=("tensorflow-cpu==2.15.0",)),
    "constraints": replace(REQUEST, constraints=("numpy<1.26",)),
    "cutoff": replace(REQUEST, cutoff=date(2024, 6, 2)),
    "source_builds": replace(REQUEST, source_builds=()),
    "leave_out": replace(REQUEST, leave_out=()),
    "preferred": replace(REQUEST, preferred=("six==1.16.0",)),
}


def closure(base: str = "debian-bookworm", request: Resolution = REQUEST) -> Closure:
    return Closure(
        python=Release("3.11"),
        answers=(Answer(base=base, request=request_digest(request)),),
        packages=(NUMPY, SIX),
        build=(),
    )


def good(row: str = ROW) -> str:
    return dump_closures(row, [closure()])


@pytest.fixture
def folder(tmp_path: Path) -> ClosureFolder:
    (tmp_path / f"{ROW}.yaml").write_text(good(), encoding="utf-8")
    return ClosureFolder(folder=tmp_path)


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        load_closures(text, "file", ROW)
    return [str(fault) for fault in caught.value.faults]


@given(SHIPPED)
@settings(max_examples=40)
def test_dumped_closures_load_as_themselves(closures: tuple[Closure, ...]) -> None:
    text = dump_closures(ROW, closures)
    assert load_closures(text, "file", ROW) == closures
    assert dump_closures(ROW, load_closures(text, "file", ROW)) == text


@given(st.text(max_size=80))
def test_any_text_gives_closures_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        load_closures(text, "file", ROW)


@given(st.data())
@settings(max_examples=40)
def test_a_file_with_a_piece_cut_out_gives_closures_or_our_error(data: st.DataObject) -> None:
    text = good()
    start = data.draw(st.integers(0, len(text)))
    with suppress(InvalidInput):
        load_closures(text[:start] + text[data.draw(st.integers(start, len(text))) :], "file", ROW)


def test_one_line_for_each_file_so_that_a_diff_can_be_reviewed() -> None:
    assert f'      - "numpy 1.26.4 {NUMPY.sha256} {NUMPY.file}"\n' in good()


def test_the_request_that_a_closure_answers_finds_it(folder: ClosureFolder) -> None:
    assert folder.find(ROW, REQUEST) == closure()


@pytest.mark.parametrize("changed", CHANGED)
def test_a_changed_request_finds_nothing(folder: ClosureFolder, changed: str) -> None:
    assert folder.find(ROW, CHANGED[changed]) is None


def test_the_order_of_requirements_does_not_change_the_question() -> None:
    turned = replace(
        REQUEST,
        requirements=REQUEST.requirements[::-1],
        constraints=REQUEST.constraints[::-1],
        source_builds=REQUEST.source_builds[::-1],
        leave_out=REQUEST.leave_out[::-1],
    )
    assert request_digest(turned) == request_digest(REQUEST)


def test_a_requirement_is_not_a_constraint() -> None:
    moved = replace(REQUEST, requirements=REQUEST.constraints, constraints=REQUEST.requirements)
    assert request_digest(moved) != request_digest(REQUEST)


def test_a_row_without_a_file_ships_nothing(folder: ClosureFolder) -> None:
    assert folder.read("tf-1.4-cpu") == ()
    assert folder.find("tf-1.4-cpu", REQUEST) is None
    assert ClosureFolder(folder=folder.folder / "nowhere").find(ROW, REQUEST) is None


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_our_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / f"{ROW}.yaml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match="cannot be read") as caught:
        ClosureFolder(folder=tmp_path).read(ROW)
    assert caught.value.faults[0].file == str(path)


def test_the_same_files_on_two_bases_are_one_closure_for_both() -> None:
    other = replace(closure("image-11.0", CHANGED["glibc"]), packages=(SIX,))
    again = closure("debian-trixie", CHANGED["glibc"])
    assert [each.bases for each in merged([closure(), other, again])] == [
        ("debian-bookworm", "debian-trixie"),
        ("image-11.0",),
    ]
    assert merged([closure(), other, again])[0].answers == (*closure().answers, *again.answers)
    assert merged(()) == ()


def test_every_answer_of_a_merged_closure_finds_it(tmp_path: Path) -> None:
    [both] = merged([closure(), closure("debian-trixie", CHANGED["glibc"])])
    (tmp_path / f"{ROW}.yaml").write_text(dump_closures(ROW, [both]), encoding="utf-8")
    shipped = ClosureFolder(folder=tmp_path)
    assert shipped.find(ROW, REQUEST) == shipped.find(ROW, CHANGED["glibc"]) == both


def test_a_closure_is_told_by_its_files_and_not_by_its_bases() -> None:
    one = closure()
    assert one.digest == closure("image-11.0").digest
    others = (
        replace(one, python=Release("3.10")),
        replace(one, packages=(NUMPY,)),
        replace(one, packages=(NUMPY, replace(SIX, sha256="0" * 64))),
        replace(one, build=(SIX,)),
        replace(one, packages=(NUMPY,), build=(SIX,)),
    )
    assert len({one.digest, *(each.digest for each in others)}) == 6


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("schema: 1", "schema: 2", "file:2: schema: must be 1"),
        (f'id: "{ROW}"', 'id: "tf-1.4-cpu"', f"file:3: id: must be the name of the file, '{ROW}'"),
        ('python: "3.11"', 'python: "three"', "file:5: closures[0].python: 'three' is not a dotted release number"),
        ('request: "sha256:', 'request: "sha1:', "file:8: closures[0].answers[0].request: 'sha1:"),
        (f"{SIX.sha256} ", "", "file:11: closures[0].packages[1]: must be `name version sha256 file size`"),
        ("1.26.4 ", "1.26.4  ", "file:10: closures[0].packages[0]: must be `name version sha256 file size`"),
        (f"6.0 {SIX.sha256}", "6.0 0123", "file:11: closures[0].packages[1]: '0123' is not a sha256"),
        (SIX.file, f"../{SIX.file}", f"file:11: closures[0].packages[1]: '../{SIX.file}' is not the name of a file"),
        (SIX.file, "", "file:11: closures[0].packages[1]: must be `name version sha256 file size`"),
        ('"six 1', '"-six 1', "file:11: closures[0].packages[1]: '-six' is not a distribution name"),
        ("build:", "built: []\n    build:", "file:12: closures[0].built: is not a known field (did you mean build?)"),
    ],
)
def test_a_fault_names_its_line_and_field(old: str, new: str, expected: str) -> None:
    assert old in good()
    [fault] = faults(good().replace(old, new, 1))
    assert fault.startswith(expected)


def test_every_fault_is_told_at_once() -> None:
    text = good().replace("schema: 1", "schema: 2").replace("3.11", "x").replace(made_up_sha256(SIX.file), "y")
    assert len(faults(text)) == 3


@pytest.mark.parametrize("missing", ["closures: []", "closures: {}", ""])
def test_a_file_without_closures_is_wrong(missing: str) -> None:
    [fault] = faults(f'schema: 1\nid: "{ROW}"\n{missing}\n')
    assert "closures" in fault
