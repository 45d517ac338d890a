"""Bytecode of many sources, compiled by the interpreter of the image.

Without it `import tensorflow` takes twice as long on every start, because bytecode cannot be written in the image.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path

from envbuilder.core.errors import ToolFailed
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.image_python import TargetPython
from envbuilder.image.layers.inflate import Reader
from envbuilder.oci.tar.members import EPOCH, Kind, Member, opened_at

_LONGEST_HEAD = 64
"""Maximum length of a line with two numbers, in bytes."""

_SHARE = 1 << 20
"""Bytes of sources for which a further process is started; they take about 0.6 s (Python 3.11, measured 2026-11-22)."""

_MOST_PROCESSES = 4
"""They share the memory limit of the sandbox. One that compiles half of TensorFlow takes up to 0.4 GiB."""


@contextmanager
def bytecode(entries: Iterable[Entry], python: TargetPython, work: Path, jobs: int = 1) -> Iterator[list[Entry]]:
    """Compile the Python sources among some entries; the result is where the interpreter looks for it.

    Sources for other Pythons, and templates that only resemble Python, are left out. The result does not depend on
    the number of processes.

    Args:
        entries: With or without sources, in any order.
        python: The interpreter of the image.
        work: Directory for the files exchanged with the interpreter; the entries can be read until the block ends.
        jobs: Maximum number of processes that compile.

    Raises:
        ToolFailed: The interpreter cannot be run on this machine.
    """
    sources = sorted(
        (entry for entry in entries if is_source(entry)), key=lambda entry: (-entry.member.size, entry.path)
    )
    script = files("envbuilder.incontainer").joinpath("compile_sources.py").read_text(encoding="utf-8")
    with tempfile.TemporaryFile(dir=work) as given, tempfile.NamedTemporaryFile(dir=work) as answer:
        if not sources:
            yield []
            return
        for piece in _frames(sources):
            given.write(piece)
        given.seek(0)
        python.run(["-c", script, str(EPOCH), str(_processes(sources, jobs))], given=given, answer=answer.file)
        tag = f"cpython-{python.series.replace('.', '')}"
        yield list(_answers(Path(answer.name), tag, frozenset(entry.path for entry in sources)))


def source_size(entries: Iterable[Entry]) -> int:
    """Return the bytes of the Python sources among some entries."""
    return sum(entry.member.size for entry in entries if is_source(entry))


def _processes(sources: Iterable[Entry], jobs: int) -> int:
    """Return a number of processes: another one pays off for each half a second of work."""
    return max(1, min(jobs, _MOST_PROCESSES, sum(entry.member.size for entry in sources) // _SHARE))


def is_source(entry: Entry) -> bool:
    """Return True if an entry is a Python source that can have bytecode."""
    return entry.path.endswith(".py") and entry.member.size > 0


def _frames(sources: Iterable[Entry]) -> Iterator[bytes]:
    reader = Reader()
    try:
        for entry in sources:
            path = f"/{entry.path}".encode("utf-8", "surrogateescape")
            yield b"%d %d\n" % (len(path), entry.member.size)
            yield path
            if entry.spliced:
                yield from reader.inflated(entry.spliced, entry.member.size)
            else:
                yield entry.member.read()
    finally:
        reader.close()


def _answers(answer: Path, tag: str, sources: frozenset[str]) -> Iterator[Entry]:
    """Yield the results of the interpreter, which comes from the image: only names from the request are accepted."""
    end = answer.stat().st_size
    with answer.open("rb") as stream:
        while head := stream.readline(_LONGEST_HEAD):
            numbers = head.split()
            if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
                raise ToolFailed(
                    "the image's Python returned no bytecode: a package prints to standard output at startup"
                )
            path = stream.read(int(numbers[0])).decode("utf-8", "surrogateescape").lstrip("/")
            size, offset = int(numbers[1]), stream.tell()
            if path not in sources or offset + size > end:
                raise ToolFailed(f"the image's Python returned bytecode of an unexpected file: {path[:80]!r}")
            stream.seek(size, os.SEEK_CUR)
            yield Entry(
                member=Member(
                    path=_place(path, tag),
                    kind=Kind.FILE,
                    mode=0o644,
                    mtime=EPOCH,
                    size=size,
                    open=partial(opened_at, answer, offset),
                )
            )


def _place(path: str, tag: str) -> str:
    parent, _, name = path.rpartition("/")
    return f"{parent}/__pycache__/{name.removesuffix('.py')}.{tag}.pyc"


def source_of(path: str) -> str:
    """Return the path of the source of a file with bytecode.

    Example:
        >>> source_of("opt/six/__pycache__/a.b.cpython-38.pyc")
        'opt/six/a.b.py'
    """
    folder, _, name = path.rpartition("/")
    module = name.removesuffix(".pyc").rpartition(".")[0]
    return f"{folder.removesuffix('__pycache__')}{module}.py"
