"""Settings of the containers of an image: command, directory, user, labels.

They are the same in a spec, in its lock and in a plan; an unset one is in none of the documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.core.field_rules import Entries, NotEmpty, Parsed, Sorted
from envbuilder.core.field_types import within
from envbuilder.core.image_paths import image_path, parents
from envbuilder.core.memory_policy import VARIABLE
from envbuilder.core.names import LARGEST_ID, account_name, label_problem, variable_problem

_SAFE_PATH = re.compile(r"[A-Za-z0-9._+@/-]+")
_PORT = re.compile(r"([1-9][0-9]{0,4})(?:/(tcp|udp|sctp))?")
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smh])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_LARGEST_PORT = 65535
_LONGEST_WAIT = 86400
STAGE_VARIABLES = frozenset(
    {
        "HOME",
        "LC_ALL",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONHOME",
        "PYTHONPATH",
        "SOURCE_DATE_EPOCH",
        "VIRTUAL_ENV",
    }
)
"""Variables that have to be the same for every build, so that it finds its tools and gives the same bytes."""

_INSTALLER_PREFIX = "UV_"
_OUR_LABELS = ("io.envbuilder.", "org.opencontainers.image.base.")


def _words(value: object) -> tuple[str, ...]:
    """Return the program and the arguments of a command.

    Raises:
        ValueError: It is not a list of texts, or its first one is empty.
    """
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError('must be a list of words, such as ["python", "train.py"]; a shell line: ["sh", "-c", "…"]')
    if any(not each.isprintable() for each in value):
        raise ValueError("must be printable texts on one line")
    if value and not value[0]:
        raise ValueError("must begin with a program")
    return tuple(value)


def _port(value: object) -> str:
    """Return a port with its protocol, such as `8888/tcp`.

    Raises:
        ValueError: It is not a port.
    """
    match = None if isinstance(value, bool) else _PORT.fullmatch(str(value))
    if not match or int(match[1]) > _LARGEST_PORT:
        raise ValueError(f"{value!r} is not a port from 1 to {_LARGEST_PORT}, such as 8888 or 6000/udp")
    return f"{match[1]}/{match[2] or 'tcp'}"


def _label_name(text: str) -> str:
    """Return the name of a label that a user may set, unchanged.

    Raises:
        ValueError: It is not the name of a label, or envbuilder sets it.
    """
    if text.startswith(_OUR_LABELS):
        raise ValueError("is set by envbuilder")
    if problem := label_problem(text):
        raise ValueError(problem)
    return text


def working_directory(text: str) -> str:
    """Return the path of a working directory in an image, unchanged.

    Raises:
        ValueError: It is not a possible one, by the rules of own files.
    """
    if not _SAFE_PATH.fullmatch(image_path(text)):
        raise ValueError(f"{text!r} may contain letters, digits and ._+@- only")
    return text


def workdir_problem(workdir: str, files: Iterable[str]) -> str:
    """Return the reason why a path cannot be a directory beside own files; empty if it can.

    Args:
        workdir: Absolute path; empty for none.
        files: Absolute paths of the own files.
    """
    taken = {workdir, *parents(workdir)}.intersection(files)
    return f"{min(taken)} is a file in `files:`, and cannot be a directory" if taken else ""


def _duration(text: str) -> int:
    """Return the seconds of a text such as `30s`.

    Raises:
        ValueError: It is not a duration, or longer than a day.
    """
    match = _DURATION.fullmatch(text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 1 <= seconds <= _LONGEST_WAIT:
        raise ValueError(f"{text!r} is not a duration from 1s to 24h, such as 30s or 5m")
    return seconds


def duration_text(seconds: int) -> str:
    """Return seconds in the largest unit that has no rest.

    Example:
        >>> duration_text(90), duration_text(120)
        ('90s', '2m')
    """
    unit, size = next((unit, size) for unit, size in _SECONDS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _variable_name(text: str) -> str:
    """Return the name of an environment variable that an image may set, unchanged.

    Raises:
        ValueError: It is not a name, or belongs into another field of a spec.
    """
    if problem := "is set by `memory:`" if text == VARIABLE else variable_problem(text):
        raise ValueError(problem)
    return text


def _build_variable_name(text: str) -> str:
    """Return the name of an environment variable that builds of own packages may get, unchanged.

    Raises:
        ValueError: It is not a name, or the build stage sets it.
    """
    if text in STAGE_VARIABLES:
        raise ValueError("is set by the stage that builds packages")
    if text.startswith(_INSTALLER_PREFIX):
        raise ValueError("is a setting of uv, which only one of the engines builds with")
    if problem := variable_problem(text):
        raise ValueError(problem)
    return text


Words: TypeAlias = Annotated[tuple[str, ...], Parsed(_words, of=object, write=list)]
_Duration: TypeAlias = Annotated[int, Parsed(_duration, write=duration_text)]
AccountId: TypeAlias = Annotated[int, within(1, LARGEST_ID, "images run as an ordinary user")]
Variables: TypeAlias = Annotated[tuple[tuple[Annotated[str, Parsed(_variable_name)], str], ...], Entries(ordered=True)]
BuildVariables: TypeAlias = Annotated[
    tuple[tuple[Annotated[str, Parsed(_build_variable_name)], str], ...], Entries(ordered=True)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """User that the image runs as."""

    name: Annotated[str, Parsed(account_name)]
    uid: AccountId
    gid: AccountId


DEFAULT_USER = User(name="app", uid=1000, gid=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Healthcheck:
    """Command by which an engine finds out whether a container works.

    Attributes:
        command: Program and arguments; exit status 0 means healthy.
        interval: Seconds between two runs.
        timeout: Seconds after which a run counts as failed.
        start_period: Seconds after the start in which failures do not count; 0 for none.
        retries: Consecutive failures after which the container is unhealthy.
    """

    command: Annotated[Words, NotEmpty()]
    interval: _Duration = 30
    timeout: _Duration = 30
    start_period: _Duration = 0
    retries: Annotated[int, within(1, 1000)] = 3

    def __str__(self) -> str:
        grace = f", from {duration_text(self.start_period)} after the start" if self.start_period else ""
        return (
            f"{words_text(self.command)} every {duration_text(self.interval)}{grace}, at most "
            f"{duration_text(self.timeout)}, unhealthy after {self.retries}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """Settings of the containers of an image.

    Attributes:
        command: Program and arguments, or the arguments of the entry point; None for the default.
        entrypoint: Program that is always started, and its first arguments; empty for none, None for that of the base.
        ports: Ports that programs of the image listen on, with protocol, sorted.
        labels: Labels of the image, sorted by name.
        workdir: Working directory; empty for the default.
        healthcheck: None for that of the base.
    """

    command: Words | None = None
    entrypoint: Words | None = None
    ports: Annotated[tuple[Annotated[str, Parsed(_port, of=object)], ...], Sorted()] = ()
    labels: Annotated[tuple[tuple[Annotated[str, Parsed(_label_name)], str], ...], Entries(ordered=True)] = ()
    workdir: Annotated[str, Parsed(working_directory)] = ""
    healthcheck: Healthcheck | None = None

    def described(self) -> Iterator[tuple[str, str]]:
        """Yield the settings that are set, as `(field, value)`."""
        if self.command is not None:
            yield "command", words_text(self.command)
        if self.entrypoint is not None:
            yield "entrypoint", words_text(self.entrypoint)
        if self.ports:
            yield "ports", ", ".join(self.ports)
        if self.workdir:
            yield "workdir", self.workdir
        if self.healthcheck is not None:
            yield "healthcheck", str(self.healthcheck)
        for name, value in self.labels:
            yield f"labels.{name}", json.dumps(value, ensure_ascii=False)


UNSET = ContainerSettings()


def words_text(words: tuple[str, ...]) -> str:
    """Return a command in the JSON form of a Dockerfile, in which nothing is expanded.

    Example:
        >>> words_text(("python", "train me.py"))
        '["python", "train me.py"]'
    """
    return json.dumps(words, ensure_ascii=False)
