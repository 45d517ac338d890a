"""The bytecode of a wheel is compiled once for an interpreter, and a layer is the same as if all had been compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.image.layers.bytecode import source_of
from envbuilder.image.layers.entries import Entry, completed, text
from envbuilder.image.layers.kept_bytecode import KeptBytecode
from envbuilder.image.layers.layer_writer import Packed, Packing, write_layer
from envbuilder.image.layers.records import Records
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock, PackagePin
from envbuilder.lock.lockfile import digest
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock

A, B = (replace(pin, size=1) for pin in good_lock().packages[:2])
SOURCES = {A: (text("opt/a/x.py", b"a"), text("opt/a/data", b"1")), B: (text("opt/b/x.py", b"b"),)}


@dataclass(kw_only=True)
class Machine:
    """A store, and an interpreter that notes what it compiles; wheels that are opened are noted too."""

    store: Store
    lock: Lock = field(default_factory=good_lock)
    asked: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    layer: Packed | None = field(default=None, init=False)

    @contextmanager
    def compile_all(self, entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
        wanted = [each for each in entries if each.path.endswith(".py")]
        self.asked += [each.path for each in wanted]
        yield [
            text(each.path.replace("/x.py", "/__pycache__/x.cpython-38.pyc"), b"code of " + each.member.read())
            for each in wanted
            if each.member.read() not in {b"", b"no Python"}
        ]

    def made(self, sources: Mapping[PackagePin, Sequence[Entry]]) -> dict[str, bytes]:
        """The bytecode by the path of its source; what was asked before is forgotten."""
        self.asked.clear()
        self.opened.clear()

        def files_of(pin: PackagePin) -> Sequence[Entry]:
            self.opened.append(pin.sha256)
            return sources[pin]

        kept = KeptBytecode(plan=plan(self.lock, digest(self.lock)), store=self.store)
        with kept.compiled(tuple(sources), files_of, self.compile_all) as compiled:
            self.layer = write_layer(completed(compiled), self.store, packing=Packing.COMPRESSED)
            assert len({each.path for each in compiled}) == len(compiled)
            return {source_of(each.path): each.member.read() for each in compiled}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(store=Store(folder=tmp_path))


def test_a_changed_wheel_alone_is_compiled_and_the_result_is_the_same_as_without_any_kept(machine: Machine) -> None:
    first, layer = machine.made(SOURCES), machine.layer
    assert machine.asked == ["opt/a/x.py", "opt/b/x.py"]
    assert (machine.made(SOURCES), machine.layer) == (first, layer)
    assert first == {"opt/a/x.py": b"code of a", "opt/b/x.py": b"code of b"}
    assert (machine.asked, machine.opened) == ([], [])
    newer = replace(B, sha256="1" * 64)
    changed = machine.made({A: SOURCES[A], newer: (text("opt/b/x.py", b"newer"),)})
    assert changed == {"opt/a/x.py": b"code of a", "opt/b/x.py": b"code of newer"}
    assert (machine.asked, machine.opened) == (["opt/b/x.py"], [newer.sha256])


@pytest.mark.parametrize("files", [(), (text("opt/b/lib.so", b"1"),), (text("opt/a/__init__.py", b""),)])
def test_a_wheel_without_sources_is_opened_once(machine: Machine, files: tuple[Entry, ...]) -> None:
    """Such as those of NVIDIA, which have gigabytes, and share an empty file."""
    sources = {A: (*SOURCES[A], text("opt/a/__init__.py", b"")), B: files}
    first = machine.made(sources)
    assert machine.opened == [A.sha256, B.sha256]
    assert machine.made(sources) == first == {"opt/a/x.py": b"code of a"}
    assert machine.opened == []


@pytest.mark.parametrize("content", [b"", b"no Python"])
def test_a_kept_file_without_bytecode_hides_that_of_an_earlier_wheel(machine: Machine, content: bytes) -> None:
    other = replace(A, sha256="5" * 64)
    machine.made({other: (text("opt/c/x.py", b"c"),), B: (text("opt/a/x.py", content),)})
    assert machine.made({A: SOURCES[A], B: (text("opt/a/x.py", content),)}) == {}
    assert machine.opened == [A.sha256]


def test_another_interpreter_compiles_again(machine: Machine) -> None:
    machine.made(SOURCES)
    machine.lock = replace(machine.lock, python=replace(machine.lock.python, sha256="2" * 64))
    machine.made(SOURCES)
    assert machine.asked == ["opt/a/x.py", "opt/b/x.py"]


def test_of_two_wheels_with_one_file_the_later_one_counts_whichever_was_kept(machine: Machine) -> None:
    machine.made(SOURCES)
    both = {A: SOURCES[A], replace(B, sha256="3" * 64): (text("opt/a/x.py", b"later"),)}
    expected = {"opt/a/x.py": b"code of later"}
    assert machine.made(both) == expected
    assert machine.made(both) == expected


def test_a_later_file_without_bytecode_hides_that_of_an_earlier_one(machine: Machine) -> None:
    machine.made(SOURCES)
    assert machine.made({A: SOURCES[A], replace(B, sha256="4" * 64): (text("opt/a/x.py", b"no Python"),)}) == {}


def test_a_wheel_that_another_one_covers_is_not_kept(machine: Machine) -> None:
    machine.made({A: SOURCES[A], replace(B, sha256="6" * 64): (text("opt/a/x.py", b"later"),)})
    assert machine.made(SOURCES)["opt/a/x.py"] == b"code of a"


def test_damaged_bytecode_is_compiled_again(machine: Machine) -> None:
    machine.made(SOURCES)
    for _, kept in list(Records(store=machine.store).layer_digests()):
        path = machine.store.path(kept)
        path.chmod(0o644)
        path.write_bytes(path.read_bytes().replace(b"code", b"evil"))
    again = Machine(store=Store(folder=machine.store.folder))
    assert again.made(SOURCES)["opt/a/x.py"] == b"code of a"
    assert again.asked == ["opt/a/x.py", "opt/b/x.py"]


def test_a_wheel_that_is_alone_in_its_layer_is_not_kept_twice(machine: Machine) -> None:
    machine.made({A: SOURCES[A]})
    assert list(Records(store=machine.store).layer_digests()) == []
