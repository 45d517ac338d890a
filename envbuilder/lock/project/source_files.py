"""Python sources and notebooks: imports, names of TensorFlow, and the Python that they are written for."""

from __future__ import annotations

import ast
import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword

from envbuilder.lock.project.clues import (
    Clue,
    ClueKind,
    Confidence,
    Reading,
    SourceLine,
    UnusedFile,
    UnusedLine,
    WarningKind,
    requirement_clues,
)
from envbuilder.lock.project.dockerfiles import commands, pip_arguments

_PYTHON_2 = re.compile(r"^\s*(?:print\s+(?![=(])\S|except\s+[\w.]+\s*,\s*\w+\s*:|exec\s+['\"]|raise\s+\w+\s*,)")
_IMPORT = re.compile(r"(?:import|from)\s")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_MAGIC = re.compile(r"^(\s*)(?:[%!?].*|[\w., ]+=\s*[%!].*|[\w.*]+\?{1,2}\s*)$")
"""Lines of IPython that are not Python: `%matplotlib inline`, `!ls`, `files = !ls`, `name?`."""
_PLAIN = re.compile(r"[A-Za-z0-9][\w.\[\],-]*([=<>!~]=?=?[\w.*]+(,[=<>!~]=?[\w.*]+)*)?")
_PYTHON_2_MODULES = frozenset(
    {
        *("BaseHTTPServer", "ConfigParser", "Cookie", "HTMLParser", "Queue", "SimpleHTTPServer", "SocketServer"),
        *("StringIO", "Tkinter", "UserDict", "UserList", "__builtin__", "cPickle", "cStringIO", "commands"),
        *("cookielib", "copy_reg", "htmlentitydefs", "httplib", "md5", "robotparser", "sets", "sha"),
        *("thread", "tkFileDialog", "tkMessageBox", "urllib2", "urlparse", "xmlrpclib"),
    }
)
"""Modules of the standard library of Python 2 that have another name in Python 3, or none.

Source: https://six.readthedocs.io/#module-six.moves (read 2026-11-26).
"""
CUDA_SUFFIXES = (".cu", ".cu.cc")
_GUARDS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})
_TENSORFLOW = "tensorflow"


def source_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a Python file says; names below `try` with an alternative are left out."""
    tree = _parsed(text)
    if tree is None:
        clue = _python_2(text, name)
        if clue is None:
            raise UnusedFile("is not Python 3")
        yield clue
        tree = _parsed("\n".join(map(_plain_statements, text.splitlines())))
    yield from _names(tree, text.splitlines(), name) if tree else ()


def _plain_statements(line: str) -> str:
    """Return an import of a line of Python 2, else the dotted names in it, as statements of Python 3.

    Example:
        >>> _plain_statements("    print 'loss', tf.contrib.layers.flatten(x), self.y  # tf.z")
        'tf.contrib.layers.flatten;self.y'
    """
    statement = line.strip()
    if _IMPORT.match(statement) and _parsed(statement):
        return statement
    names = _DOTTED.findall(statement.partition("#")[0])
    return ";".join(name for name in names if not any(map(iskeyword, name.split("."))))


def _parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a source; None if it is not Python 3."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def cuda_readings(files: Mapping[str, str], name: str) -> Iterator[UnusedLine]:
    """Yield that a project has CUDA code, such as custom operations: once, for the first of its files."""
    others = sorted(each for each in files if each.endswith(CUDA_SUFFIXES))
    if name == others[0]:
        count = f"and {len(others) - 1} other files are" if len(others) > 1 else "is"
        reason = f"{count} CUDA code, which must be compiled by nvcc; no image has nvcc"
        yield UnusedLine(line=SourceLine(file=name, number=0), reason=reason, warning=WarningKind.CUDA_CODE)


def _python_2(text: str, name: str) -> Clue | None:
    for number, line in enumerate(text.splitlines(), 1):
        if _PYTHON_2.match(line):
            place = SourceLine(file=name, number=number, text=line)
            return Clue(kind=ClueKind.PYTHON, value="==2.7.*", line=place, confidence=Confidence.GUESSED)
    return None


def notebook_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what the code of a notebook says, and what its lines that call pip install."""
    try:
        document = json.loads(text)
        cells = document["cells"] if "cells" in document else document["worksheets"][0]["cells"]
        code = ["".join(cell.get("source", cell.get("input", ""))) for cell in cells if cell.get("cell_type") == "code"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnusedFile("is not a notebook") from error
    yield from _cells([cell for cell in code if not cell.lstrip().startswith("%%")], name)


def _cells(cells: Sequence[str], name: str) -> Iterator[Reading]:
    """Yield what the cells of a notebook say; their lines are numbered throughout."""
    parts: list[str] = []
    number = 1
    for cell in cells:
        lines = cell.splitlines()
        for at, line in enumerate(lines, number):
            yield from installed(line.lstrip().lstrip("!%"), SourceLine(file=name, number=at, text=line))
        python = lines if any(map(_PYTHON_2.match, lines)) else _python_of(lines)
        if python is None:
            place = SourceLine(file=name, number=number, text=lines[0])
            yield UnusedLine(line=place, reason="begins a cell that is not Python 3")
        parts += python or [""] * len(lines)
        number += len(lines)
    yield from source_readings("\n".join(parts), name)


def _python_of(cell: Sequence[str]) -> list[str] | None:
    """Return the lines of a cell as Python; lines of IPython are replaced. None if that is not enough.

    A cell that is valid Python stays as it is: in it, a line that begins with `%` continues an expression.
    """
    if _parsed("\n".join(cell)):
        return list(cell)
    replaced: list[str] = []
    is_continued = False
    for line in cell:
        plain = "" if is_continued else _MAGIC.sub(r"\1pass", line)
        is_continued = plain != line and line.endswith("\\")
        replaced.append(plain)
    return replaced if _parsed("\n".join(replaced)) else None


def installed(text: str, line: SourceLine) -> Iterator[Clue]:
    """Yield what a line of notes or of a notebook installs by pip, up to its first word that is no requirement."""
    words = pip_arguments(next(commands(text.split("#", maxsplit=1)[0]), []))
    for word in words or ():
        if word.startswith("-"):
            continue
        found = requirement_clues(word, line, Confidence.GUESSED) if _PLAIN.fullmatch(word) else ()
        if not found:
            return
        yield from (each for each in found if isinstance(each, Clue))


def _names(tree: ast.Module, lines: list[str], name: str) -> Iterator[Reading]:
    aliases = dict(_aliases(tree))
    guarded = {id(each) for node in ast.walk(tree) if _is_guarded(node) for each in ast.walk(node)}

    def place(node: ast.AST) -> SourceLine:
        number = getattr(node, "lineno", 0)
        return SourceLine(file=name, number=number, text=lines[number - 1] if number else "")

    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        for module in imported(node):
            yield Clue(kind=ClueKind.IMPORT, value=module, line=place(node), confidence=Confidence.GUESSED)
        for used in _used(node, aliases):
            yield Clue(kind=ClueKind.API, value=used, line=place(node), confidence=Confidence.GUESSED)


def _is_guarded(node: ast.AST) -> bool:
    """Return True for a `try` whose handlers expect that a name is missing."""
    if not isinstance(node, ast.Try):
        return False
    return any(
        handler.type is None or any(getattr(each, "id", "") in _GUARDS for each in ast.walk(handler.type))
        for handler in node.handlers
    )


def imported(node: ast.AST) -> tuple[str, ...]:
    """Return the top-level modules that a statement imports, without those of the standard library.

    Example:
        >>> [name for node in ast.walk(ast.parse("import os, cv2.aruco")) for name in imported(node)]
        ['cv2']
    """
    if isinstance(node, ast.Import):
        names = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    else:
        return ()
    tops = dict.fromkeys(each.partition(".")[0] for each in names)
    return tuple(top for top in tops if top not in sys.stdlib_module_names | _PYTHON_2_MODULES)


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names of the file that stand for TensorFlow or a module of it: `tf`, `tf.compat.v1`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == _TENSORFLOW:
                    yield (each.asname, _public(each.name)) if each.asname else (_TENSORFLOW, "tf")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == _TENSORFLOW:
            for each in node.names:
                yield each.asname or each.name, _public(f"{node.module}.{each.name}")


def _public(module: str) -> str:
    """Return the name of a module of TensorFlow as `tf.…`; empty for one that is not public.

    Example:
        >>> _public("tensorflow.keras.layers"), _public("tensorflow"), _public("tensorflow.python.ops")
        ('tf.keras.layers', 'tf', '')
    """
    rest = module.removeprefix(_TENSORFLOW)
    return "" if rest.startswith(".python") or rest.endswith(".*") else f"tf{rest}"


def _used(node: ast.AST, aliases: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == _TENSORFLOW:
        return tuple(
            public for each in node.names if (public := _public(f"{node.module}.{each.name}")) not in {"", "tf"}
        )
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not parts or not isinstance(node, ast.Name) or not aliases.get(node.id):
        return ()
    return (".".join([aliases[node.id], *reversed(parts)]),)
