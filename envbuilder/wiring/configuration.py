"""The configuration of a user: settings, and options of commands, each with the place that it is from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
Words: TypeAlias = tuple[str, ...]


class SettingKind(Enum):
    """The type of a setting, as a noun with its article, as errors name it."""

    TEXT = "a text in quotes"
    PATH = "a path in quotes"
    WORDS = "a list of texts"
    FLAG = "true or false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of envbuilder: a key of the configuration file, and a variable that takes precedence.

    Attributes:
        summary: What it is, for `config show`.
        default: Value without one; empty for none, or if it depends on the machine.
        choices: All values; empty for any.
    """

    key: str
    kind: SettingKind
    summary: str
    default: str = ""
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The variable of the environment."""
        return f"ENVBUILDER_{self.key.upper().replace('-', '_')}"

    def problem(self, words: Words) -> str:
        """Return the reason why words are not a value of this setting; empty if they are."""
        allowed = self.choices or ((*TRUE, *FALSE) if self.kind is SettingKind.FLAG else ())
        wrong = [word for word in words if allowed and word.lower() not in allowed]
        return f"{wrong[0]!r} is not one of {', '.join(allowed)}" if wrong else ""


CACHE = Setting(key="cache", kind=SettingKind.PATH, summary="cache directory")
MATRICES = Setting(key="matrices", kind=SettingKind.PATH, summary="directory of the catalog")
CATALOGS = Setting(key="catalogs", kind=SettingKind.WORDS, summary="catalogs of teams")
INDEX = Setting(key="index", kind=SettingKind.TEXT, summary="package index")
REGISTRY_MIRROR = Setting(key="registry-mirror", kind=SettingKind.TEXT, summary="registry that serves the base images")
MIRROR = Setting(key="mirror", kind=SettingKind.TEXT, summary="repository with files of locks")
LAYER_CACHE = Setting(key="layer-cache", kind=SettingKind.WORDS, summary="layer caches")
PYTHON_ARCHIVE = Setting(key="python-archive", kind=SettingKind.WORDS, summary="interpreter archives")
PUBLISHERS = Setting(key="publishers", kind=SettingKind.WORDS, summary="places of publishers, NAME=PLACE")
DEBIAN_MIRROR = Setting(key="debian-mirror", kind=SettingKind.WORDS, summary="Debian archives")
DEBIAN_KEYRING = Setting(key="debian-keyring", kind=SettingKind.PATH, summary="keys of the Debian archive")
UBUNTU_MIRROR = Setting(key="ubuntu-mirror", kind=SettingKind.WORDS, summary="Ubuntu archives")
UBUNTU_KEYRING = Setting(key="ubuntu-keyring", kind=SettingKind.PATH, summary="keys of the Ubuntu archive")
OSV = Setting(key="osv", kind=SettingKind.WORDS, summary="vulnerability databases")
ACCEPT_NVIDIA_EULA = Setting(
    key="accept-nvidia-eula", kind=SettingKind.FLAG, summary="accept NVIDIA's license of libraries in its archives"
)
ALLOW_HOST_BUILDS = Setting(
    key="allow-host-builds",
    kind=SettingKind.FLAG,
    summary="run code of packages without a sandbox if none is available",
)
COLOR = Setting(
    key="color",
    kind=SettingKind.TEXT,
    summary="when to use colours",
    default="auto",
    choices=("auto", "always", "never"),
)
PROGRESS = Setting(
    key="progress", kind=SettingKind.TEXT, summary="form of progress", default="auto", choices=("auto", "plain", "json")
)
VERBOSITY = Setting(
    key="verbosity",
    kind=SettingKind.TEXT,
    summary="how much is printed",
    default="normal",
    choices=("quiet", "normal", "verbose"),
)

OPTIONS_SENT = "ENVBUILDER_OPTIONS_SENT"
"""Variable of commands that run elsewhere (`--on`): the command line has every option, so none is configured."""
TERMINAL_SETTINGS = (COLOR, PROGRESS, VERBOSITY)
"""What the options of all commands override."""
SETTINGS = (
    *(CACHE, MATRICES, CATALOGS, INDEX, REGISTRY_MIRROR, MIRROR, LAYER_CACHE, PYTHON_ARCHIVE, PUBLISHERS, OSV),
    *(DEBIAN_MIRROR, DEBIAN_KEYRING, UBUNTU_MIRROR, UBUNTU_KEYRING),
    *(ACCEPT_NVIDIA_EULA, ALLOW_HOST_BUILDS),
    *TERMINAL_SETTINGS,
)
"""All settings, in the order of `config show`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value of the configuration.

    Attributes:
        words: Its words; one for a text, a path or a flag.
        origin: The variable, or the file with the line.
        folder: Directory that relative paths refer to.
    """

    words: tuple[str, ...]
    origin: str
    folder: Path

    @property
    def is_true(self) -> bool:
        """Whether a flag is set."""
        return self.words[0].lower() in TRUE

    @property
    def path(self) -> Path:
        """The path."""
        return self.folder / Path(self.words[0]).expanduser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A value of an option in the table of its command."""

    value: str | int | bool | tuple[str | int, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A configuration file.

    Attributes:
        file: Its path; empty if there is none.
        commands: Options by their names without dashes, by the words of their command, such as `("cache", "prune")`.
    """

    file: str = ""
    settings: Mapping[str, Given] = field(default_factory=dict)
    commands: Mapping[Words, Mapping[str, Option]] = field(default_factory=dict)


def of_variable(setting: Setting, text: str) -> Given:
    """Return the value of a setting in a variable; lists are separated by white space."""
    words = tuple(text.split()) if setting.kind is SettingKind.WORDS else (text,)
    return Given(words=words, origin=setting.variable, folder=Path())
