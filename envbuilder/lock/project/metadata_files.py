"""Metadata of Python projects: `pyproject.toml`, `setup.cfg` and `setup.py`, without running them."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from envbuilder.lock.project.clues import (
    Clue,
    ClueKind,
    Confidence,
    Reading,
    SourceLine,
    UnusedFile,
    UnusedLine,
    requirement_clues,
)

_CARET = re.compile(r"[\^~](\d+(?:\.\d+)*)$")


def pyproject_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a `pyproject.toml` says: the table `project`, else that of Poetry."""
    document = toml_document(text)
    project = document.get("project")
    if isinstance(project, dict):
        yield from _python(project.get("requires-python"), text, name)
        yield from _requirements(_texts(project.get("dependencies")), text, name)
        return
    poetry = document.get("tool", {}).get("poetry", {}) if isinstance(document.get("tool"), dict) else {}
    for package, value in poetry.get("dependencies", {}).items() if isinstance(poetry, dict) else ():
        yield from poetry_readings(package, value, text, name)


def toml_document(text: str) -> dict[str, Any]:
    """Return a TOML document.

    Raises:
        UnusedFile: It is none.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnusedFile(f"is not TOML: {error}") from error


def poetry_readings(package: str, value: object, text: str, name: str) -> Iterator[Reading]:
    """Yield what a dependency of Poetry or of a Pipfile says.

    Args:
        package: Its name; `python` is the interpreter.
        value: A range, or a table with one.
        text: The file.
        name: Its path.
    """
    line = line_with(package, text, name)
    table = value if isinstance(value, Mapping) else {"version": value}
    versions = table.get("version", "")
    if {"git", "path", "url", "file"} & set(table):
        yield UnusedLine(line=line, reason="is installed from an address; an index does not have it")
    elif table.get("optional"):
        yield UnusedLine(line=line, reason="is optional")
    elif isinstance(versions, str):
        wanted = pip_range(versions)
        if package == "python":
            yield from _python(wanted, text, name)
        else:
            extras = ",".join(_texts(table.get("extras")))
            wanted = f"[{extras}]{wanted}" if extras else wanted
            yield from requirement_clues(f"{package}{wanted}", line, Confidence.STATED)


def pip_range(text: str) -> str:
    """Return a range of Poetry or of a Pipfile as one of pip.

    Source: https://python-poetry.org/docs/dependency-specification/ (read 2026-11-23).

    Example:
        >>> pip_range("^2.4.1"), pip_range("~1.15"), pip_range("*"), pip_range("1.4"), pip_range(">=1,<2")
        ('>=2.4.1,<3', '>=1.15,<1.16', '', '==1.4', '>=1,<2')
    """
    plain = text.replace(" ", "")
    if plain in {"", "*"}:
        return ""
    found = _CARET.fullmatch(plain)
    if found:
        return f">={found[1]},<{_next(found[1], is_caret=plain[0] == '^')}"
    return f"=={plain}" if plain[0].isdigit() else plain


def _next(version: str, *, is_caret: bool) -> str:
    parts = [int(part) for part in version.split(".")]
    if is_caret:
        place = next((place for place, part in enumerate(parts) if part), len(parts) - 1)
    else:
        place = min(1, len(parts) - 1)
    return ".".join(map(str, [*parts[:place], parts[place] + 1]))


def setup_cfg_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a `setup.cfg` says."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise UnusedFile(f"cannot be read: {str(error).splitlines()[0]}") from error
    if parser.has_section("options"):
        yield from _python(parser.get("options", "python_requires", fallback=None), text, name)
        yield from _requirements(parser.get("options", "install_requires", fallback="").splitlines(), text, name)


def setup_py_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what the call of `setup()` in a `setup.py` says, as far as its arguments are written out."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UnusedFile("is not Python 3") from error
    assigned = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup")
    given = {word.arg: word.value for call in calls for word in call.keywords}
    yield from _python(_literal(given.get("python_requires"), assigned), text, name)
    required = given.get("install_requires")
    words = _literal(required, assigned)
    if required is not None and words is None:
        line = SourceLine(file=name, number=required.lineno, text=ast.unparse(required))
        yield UnusedLine(line=line, reason="is computed; only requirements that are written out can be read")
    yield from _requirements(_texts(words), text, name)


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _literal(node: ast.expr | None, assigned: Mapping[str, ast.expr]) -> object:
    """Return the value of a literal, or of a name that one is assigned to; None for anything else."""
    if isinstance(node, ast.Name):
        node = assigned.get(node.id)
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, SyntaxError):
        return None


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _requirements(texts: list[str], text: str, name: str) -> Iterator[Reading]:
    for each in texts:
        if each.strip():
            yield from requirement_clues(each.strip(), line_with(each.strip(), text, name), Confidence.STATED)


def _python(value: object, text: str, name: str) -> Iterator[Reading]:
    if isinstance(value, str) and value.strip():
        line = line_with(value.strip(), text, name)
        yield Clue(kind=ClueKind.PYTHON, value=value.strip(), line=line, confidence=Confidence.STATED)


def line_with(words: str, text: str, name: str) -> SourceLine:
    """Return the first line of a file that begins with some words, else one that has them, else the file as a whole."""
    lines = list(enumerate(text.splitlines(), 1))
    begins = re.compile(rf"[\s\-'\"]*{re.escape(words)}(?![\w-])")
    for found in (begins.match, lambda line: words in line):
        for number, line in lines:
            if found(line):
                return SourceLine(file=name, number=number, text=line)
    return SourceLine(file=name, number=0)
