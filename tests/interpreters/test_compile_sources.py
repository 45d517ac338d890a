"""The bytecode compiler in every Python of this machine: the same source always gives the same result."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.interpreters.interpreters import interpreters

SCRIPT = Path(__file__).parents[2] / "envbuilder" / "incontainer" / "compile_sources.py"
PYTHONS = [path for path in interpreters() if not path.parent.parent.name.startswith("2.")]
OTHERS = ("collections/__init__.py", "argparse.py", "json/encoder.py", "subprocess.py", "typing.py", "shlex.py")
WITHOUT = (
    b"SAME = {None, 1, 2}\ndef f(x):\n    return x in {None, 'a'}\n",
    b"this is no Python",
)
"""A set with None, which is written in an order of its own in each process before Python 3.11; and a template."""

Source = tuple[bytes, bytes]

pytestmark = pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])


def sources(python: Path) -> list[Source]:
    """The modules that a standard library of any version has, and one with every kind of constant."""
    library = next((python.parent.parent / "lib").glob("python3.*"), Path(os.__file__).parent)
    found = [(f"/lib/{name}".encode(), (library / name).read_bytes()) for name in OTHERS]
    kinds = (
        b"X = ('%', '{', '}', b'{', 1.5, 2j, 10**20, (1, ('a b', None)), ...)\ndef f(x):\n    return x in {'u v', 3}\n"
    )
    return [*found, (b"/lib/kinds.py", kinds)]


def compiled(python: Path, files: Sequence[Source], processes: int = 1, before: str = "") -> dict[bytes, bytes]:
    """Compile some files.

    Args:
        python: The interpreter.
        files: Path and content of each.
        processes: Number of processes.
        before: Program that is executed before the compiler.
    """
    frames = b"".join(b"%d %d\n%s%s" % (len(path), len(text), path, text) for path, text in files)
    answer = subprocess.run(
        [python, "-s", "-B", "-c", f"{before}\n{SCRIPT.read_text(encoding='utf-8')}", "1000000000", str(processes)],
        input=frames,
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "0", "PATH": "", "LC_ALL": "C.UTF-8"},
    ).stdout
    found = {}
    while answer:
        head, _, answer = answer.partition(b"\n")
        path, content = (int(number) for number in head.split())
        found[answer[:path]] = answer[path : path + content]
        answer = answer[path + content :]
    return found


def test_other_sources_and_the_order_do_not_matter(python: Path) -> None:
    files = sources(python)
    together = compiled(python, files)
    assert set(together) == {path for path, _ in files}
    alone = {path: pyc for file in files for path, pyc in compiled(python, [file]).items()}
    assert alone == together
    assert compiled(python, files[::-1]) == together


def test_the_number_of_processes_does_not_matter(python: Path) -> None:
    files = sources(python)
    assert compiled(python, files, 3) == compiled(python, files)


def test_what_the_process_did_before_does_not_matter(python: Path) -> None:
    # Python 3.13 writes names of functions otherwise while a module with the same functions is loaded: json is loaded,
    # none of the sources is.
    files = sources(python)[-2:]
    before = "import sys, json\nkept = [sys.intern(name) for name in ('{', '}', '%', 'kinds', 'encoding')]"
    assert compiled(python, files, before=before) == compiled(python, files)


def test_bytecode_is_what_the_interpreter_loads(python: Path) -> None:
    [pyc] = compiled(python, [(b"/x.py", b"value = ('a', 1)\n")]).values()
    offset = 16 if python.parent.parent.name.split(".")[1] not in {"5", "6"} else 12
    program = f"import marshal, sys; exec(marshal.loads(sys.stdin.buffer.read()[{offset}:])); print(value)"
    loaded = subprocess.run([python, "-c", program], input=pyc, capture_output=True, check=True).stdout
    assert loaded.strip() == b"('a', 1)"


def test_a_source_that_cannot_be_compiled_alike_twice_is_left_out(python: Path) -> None:
    files = [(b"/%d.py" % number, text) for number, text in enumerate(WITHOUT)]
    old = [int(part) for part in python.parent.parent.name.split(".")[:2]] < [3, 11]
    assert set(compiled(python, files, 2)) == (set() if old else {b"/0.py"})
