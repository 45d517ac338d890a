"""Installed software as the probe read it from files, without importing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.core.field_rules import At, Entries, Parsed
from envbuilder.core.json_input import printable


def _shown(value: object) -> str:
    """Return a constant of any type as text; a list becomes one text, and what has no short text is empty."""
    if isinstance(value, list):
        return ", ".join(printable(str(entry)) for entry in value if not isinstance(entry, list | dict))
    return printable(str(value)) if isinstance(value, str | int) else ""


BuildInfo: TypeAlias = Annotated[
    tuple[tuple[str, Annotated[str, Parsed(_shown, of=object)]], ...], Entries(ordered=True)
]
"""Build properties that TensorFlow states, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """An installed Python distribution.

    Attributes:
        name: Normalized name.
        version: Version in its metadata.
        folder: Its directory on `sys.path`; empty if unknown.
        requires: Requirements without those of extras, in the order of the metadata; only for frameworks.
        modules: Those of `tensorflow` and `keras` whose files it installed.
    """

    name: str
    version: str
    folder: str = ""
    requires: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFile:
    """A CUDA library on disk.

    Attributes:
        name: File name, such as `libcudnn.so.8`.
        path: Its path.
        real: The file that it is a link to.
        via: Search path of the loader: `LD_LIBRARY_PATH`, `RUNPATH` (of TensorFlow or of the interpreter), `loader`
            (cache and system directories); empty when it does not.
    """

    name: str
    path: str
    real: str
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFlowFiles:
    """The TensorFlow that an import would take.

    Attributes:
        folder: Its directory.
        info: Constants of its `build_info.py`, sorted by name; differs from release to release.
        keras: Version of the Keras inside of it; empty from 2.6 on, where Keras is a distribution.
        needed: CUDA libraries that it is linked against, sorted; the others are opened at run time.
    """

    folder: str
    info: BuildInfo
    keras: str
    needed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareFacts:
    """Everything in the environment of one interpreter.

    Attributes:
        distributions: In the order of `sys.path`; a name may come twice, the first hides the others.
        tensorflow: None when there is no module of this name.
        files: CUDA libraries in the order in which the loader searches; last those that it does not reach.
        conda: Directory of the libraries of a conda environment; empty outside of one.
    """

    distributions: tuple[Distribution, ...]
    tensorflow: TensorFlowFiles | None
    files: Annotated[tuple[CudaFile, ...], At("libraries")]
    conda: str
