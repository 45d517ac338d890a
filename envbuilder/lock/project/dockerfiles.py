"""Dockerfiles: the base, installed packages, variables, the working directory and the command of the last stage."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from posixpath import join, normpath

from envbuilder.lock.project.clues import Clue, ClueKind, Confidence, Reading, SourceLine, UnusedLine, requirement_clues
from envbuilder.lock.project.requirements_files import joined_lines, requirements_readings

_FROM = re.compile(r"(?:--platform=\S+\s+)?(\S+)(?:\s+as\s+(\S+))?", re.IGNORECASE)
_TENSORFLOW_IMAGE = re.compile(r"(?:.*/)?tensorflow/tensorflow:(\d+(?:\.\d+)+)?(\S*)")
_CUDA_IMAGE = re.compile(r"(?:.*/)?nvidia/cuda:(\d+\.\d+)(?:[.\d]*)(?:-cudnn(\d+))?\S*")
_PYTHON_IMAGE = re.compile(r"(?:.*/)?python:(\d+\.\d+)\S*")
_APT = frozenset({"apt-get", "apt", "aptitude"})
_VALUED = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "-t", "--target"}
)
_VARIABLE = re.compile(r"(?<!\\)\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\})")
_OPERATORS = frozenset({"&&", "||", ";", "|", "(", ")", ">", ">>", "2>", "<", "&"})


def dockerfile_readings(files: Mapping[str, str], name: str) -> Iterator[Reading]:
    """Yield what a Dockerfile says, and the requirements files of the project that it installs."""
    readers: dict[str, Callable[[str, SourceLine], Iterator[Reading]]] = {
        "FROM": partial(_from, set()),
        "RUN": partial(_run, files),
        "ENV": _env,
    }
    lines = list(_substituted(joined_lines(files[name])))
    last = max((number for number, text in lines if text.upper().startswith("FROM ")), default=0)
    stage = _Stage()
    for number, text in lines:
        word, _, rest = text.partition(" ")
        line = SourceLine(file=name, number=number, text=text)
        if reader := readers.get(word.upper()):
            yield from reader(rest.strip(), line)
        elif number > last:
            yield from stage.read(word.upper(), rest.strip(), line)


def _substituted(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a Dockerfile with the variables replaced whose value it states, by `ARG` or `ENV`.

    A command has only those of `ENV`, from the shell of the container; its line stays as it is.

    Source: https://docs.docker.com/reference/dockerfile/#environment-replacement (read 2026-11-26).
    """
    values: dict[str, str] = {}
    for number, text in lines:
        word = text.partition(" ")[0].upper()
        known = text if word in {"CMD", "ENTRYPOINT"} else _VARIABLE.sub(partial(_value, values), text)
        if word in {"ARG", "ENV"}:
            values |= dict(_assignments(known.partition(" ")[2]))
        yield number, known


def _value(values: Mapping[str, str], found: re.Match[str]) -> str:
    name, default = found["braced"] or found["plain"], found["default"]
    return values.get(name) or (found[0] if default is None else default)


class _Stage:
    """The last stage of a Dockerfile, whose working directory is changed line by line."""

    def __init__(self) -> None:
        self._workdir = "/"

    def read(self, word: str, text: str, line: SourceLine) -> Iterator[Reading]:
        """Yield what an instruction says about the image; the working directory as an absolute path."""
        match word:
            case "WORKDIR":
                yield from self._move(text, line)
            case "CMD":
                yield from _words(ClueKind.COMMAND, text, line)
            case "ENTRYPOINT":
                yield from _words(ClueKind.ENTRYPOINT, text, line)
            case "COPY" | "ADD":
                yield from self._copy(text, line)
            case _:
                return

    def _move(self, text: str, line: SourceLine) -> Iterator[Reading]:
        if "$" in text:
            yield UnusedLine(line=line, reason="contains a variable")
            return
        self._workdir = normpath(join(self._workdir, text.strip("\"'")))
        yield _implied(ClueKind.WORKDIR, self._workdir, line)

    def _copy(self, text: str, line: SourceLine) -> Iterator[Reading]:
        words = _json_words(text) or text.split()
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")] or [""]
        if any(option.startswith("--from") for option in options):
            yield UnusedLine(line=line, reason="copies from another stage or image; an image of envbuilder has one")
        elif not sources or "$" in text or any("://" in source for source in sources):
            yield UnusedLine(line=line, reason="does not copy files of the project by their paths")
        else:
            path = normpath(join(self._workdir, target)).rstrip("/")
            # A directory is meant where it exists, the target ends with a slash, or several files are copied.
            is_directory = path == self._workdir or target.endswith("/") or len(sources) > 1
            place = f"{path}{'/' if is_directory else ''}"
            for source in sources:
                yield _implied(ClueKind.COPY, shlex.join((source, place)), line)


def _words(kind: ClueKind, text: str, line: SourceLine) -> Iterator[Reading]:
    """Yield a command; a line of shell as Docker starts it."""
    words = _json_words(text)
    yield _implied(kind, shlex.join(("sh", "-c", text) if words is None else words), line)


def _json_words(text: str) -> tuple[str, ...] | None:
    """Return the words of the JSON form of an instruction; None for its shell form."""
    try:
        words = json.loads(text) if text.startswith("[") else None
    except ValueError:
        return None
    return tuple(words) if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def _from(stages: set[str], text: str, line: SourceLine) -> Iterator[Reading]:
    """Yield what a base says, unless it is a stage above; add the name of this stage to theirs."""
    found = _FROM.fullmatch(text)
    image = found[1] if found else text
    if found and found[2]:
        stages.add(found[2])
    if image in stages:
        return
    framework, cuda, python = (pattern.fullmatch(image) for pattern in (_TENSORFLOW_IMAGE, _CUDA_IMAGE, _PYTHON_IMAGE))
    if framework:
        yield from _of_tensorflow_image(framework[1] or "", framework[2], line)
    elif cuda:
        yield _implied(ClueKind.CUDA, f"=={cuda[1]}.*", line)
        yield _implied(ClueKind.DEVICE, "gpu", line)
        if cuda[2]:
            yield _implied(ClueKind.CUDNN, f"=={cuda[2]}.*", line)
    elif python:
        yield _implied(ClueKind.PYTHON, f"=={python[1]}.*", line)
    else:
        yield UnusedLine(line=line, reason="is a base that says nothing about TensorFlow; the environment has its own")


def _of_tensorflow_image(version: str, variant: str, line: SourceLine) -> Iterator[Reading]:
    """Yield what a tag of TensorFlow's own images says.

    Source: https://www.tensorflow.org/install/docker: `1.4.0-gpu-py3`, `2.4.1-gpu`, `latest-gpu-jupyter`.
    """
    yield _implied(ClueKind.TENSORFLOW, f"=={version}" if version else "", line)
    yield _implied(ClueKind.DEVICE, "gpu" if "gpu" in variant else "cpu", line)
    if not version.startswith("2") and version and "py3" not in variant:
        yield _implied(ClueKind.PYTHON, "==2.7.*", line)


def _run(files: Mapping[str, str], text: str, line: SourceLine) -> Iterator[Reading]:
    for words in commands(text):
        program = words[0].rsplit("/", 1)[-1]
        if program in _APT and "install" in words:
            for package in _arguments(words[words.index("install") + 1 :]):
                yield _implied(ClueKind.OS_PACKAGE, package, line)
        elif (rest := pip_arguments(words)) is not None:
            yield from _pip(files, rest, line)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line of shell, as words; nothing for a line that cannot be split.

    Example:
        >>> list(commands("apt-get update && pip install -q 'a<2'"))
        [['apt-get', 'update'], ['pip', 'install', '-q', 'a<2']]
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars="&|;()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word in _OPERATORS:
                if words:
                    yield words
                words = []
            elif words or "=" not in word:
                words.append(word)
    except ValueError:
        return
    if words:
        yield words


def pip_arguments(words: list[str]) -> list[str] | None:
    """Return the words after `install` of a call of pip; None for any other command.

    Example:
        >>> pip_arguments(["sudo", "pip3", "install", "tensorflow"])
        ['tensorflow']
        >>> pip_arguments(["python", "-m", "pip", "install", "six"])
        ['six']
        >>> pip_arguments(["echo", "pip"]) is None
        True
    """
    for place, word in enumerate(words[:5]):
        if re.fullmatch(r"(?:\S*/)?pip[\d.]*", word) and words[place + 1 : place + 2] == ["install"]:
            return words[place + 2 :]
    return None


def _pip(files: Mapping[str, str], words: list[str], line: SourceLine) -> Iterator[Reading]:
    for option, value in pairwise(words):
        if option in {"-r", "--requirement"}:
            name = value.rsplit("/", 1)[-1]
            if name in files:
                yield from requirements_readings(files, name)
            else:
                yield UnusedLine(line=line, reason=f"installs {name}, which is not in the project")
    for word in _arguments(words):
        yield from requirement_clues(word, line, Confidence.IMPLIED)


def _arguments(words: list[str]) -> Iterator[str]:
    """Yield words that are no options, no values of options, no paths and no variables."""
    valued = {*_VALUED, "-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-o"}
    for before, word in pairwise(["", *words]):
        if before not in valued and not word.startswith(("-", ".", "/", "$", "http", "git+")) and "$" not in word:
            yield word


def _env(text: str, line: SourceLine) -> Iterator[Reading]:
    for name, value in _assignments(text):
        if "$" not in value:
            yield _implied(ClueKind.VARIABLE, f"{name}={value}", line)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of `ENV` and `ARG`; nothing for an `ARG` without a value."""
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if len(words) > 1 and "=" not in words[0]:
        words = [f"{words[0]}={' '.join(words[1:])}"]
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def _implied(kind: ClueKind, value: str, line: SourceLine) -> Clue:
    return Clue(kind=kind, value=value, line=line, confidence=Confidence.IMPLIED)
