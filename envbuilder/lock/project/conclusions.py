"""Conclusions from all clues of a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from envbuilder.catalog.api_names import ApiMap
from envbuilder.core.names import os_package, requirement, requirement_name, variable_problem
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import working_directory
from envbuilder.lock.project.clues import Clue, ClueKind, Confidence, UnusedLine, WarningKind
from envbuilder.lock.project.reading import ProjectReading

_DISTRIBUTIONS = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "google": "protobuf",
    "mpl_toolkits": "matplotlib",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Distributions whose modules have another name; those of the metadata of their wheels (2026-11-23)."""
_FRAMEWORK = frozenset({"tensorflow", "keras"})
_INSTALLERS = frozenset({"distribute", "pip", "pkg-resources", "poetry", "setuptools", "tox", "virtualenv", "wheel"})
_TOOLS = (
    *(
        "apt-transport-https",
        "apt-utils",
        "build-essential",
        "ca-certificates",
        "cmake",
        "curl",
        "dialog",
        "g++",
        "gcc",
    ),
    *("git", "gnupg", "locales", "make", "nano", "pkg-config", "software-properties-common", "sudo", "unzip", "vim"),
    *("wget", "zip"),
)
"""OS packages that install other things, or that an image with all packages installed does not need."""
_PLATFORM_VARIABLES = ("CUDA", "CUDNN", "DEBIAN_FRONTEND", "LANG", "LC_", "LD_", "NVIDIA_", "PATH", "PIP_", "PYTHON")
_MANY_NAMES = 10
"""Names of TensorFlow in the code that outweigh a version in a README."""
_LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux"}


class Device(StrEnum):
    """Device that a project is written for; unknown unless a package, an image or a release of CUDA says it."""

    CPU = "cpu"
    GPU = "gpu"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusions:
    """What a project needs.

    Attributes:
        versions: The clue that decides about each software, by kind: TensorFlow, Keras, Python, CUDA, cuDNN.
        device: Device that it is written for.
        releases: Minor releases of TensorFlow that have all names of TensorFlow that the code uses, ascending; empty if
            no release has them all, or none is known.
        missing: For each release of TensorFlow that lacks a name: the first use of each such name.
        packages: Requirements, one for each distribution, in the order of the files.
        variables: Environment variables, as `NAME=VALUE`.
        container: Command, entry point and working directory, by kind; of the first Dockerfile that has any of them.
        copies: Files that this Dockerfile copies into the image.
        unused: Clues and lines that are not taken over, with reasons.
    """

    versions: Mapping[ClueKind, Clue]
    device: Device
    releases: tuple[Release, ...]
    missing: Mapping[Release, tuple[Clue, ...]]
    packages: tuple[Clue, ...]
    os_packages: tuple[Clue, ...]
    variables: tuple[Clue, ...]
    container: Mapping[ClueKind, Clue]
    copies: tuple[Clue, ...]
    unused: tuple[UnusedLine, ...]

    def range_of(self, kind: ClueKind) -> str:
        """Return the range of versions of a software; empty for any."""
        clue = self.versions.get(kind)
        return clue.value if clue else ""


def _problem_of_container(clue: Clue) -> str:
    """Return the reason why a command or a working directory cannot be that of an image; empty if it can."""
    if clue.kind is ClueKind.WORKDIR:
        try:
            working_directory(clue.value)
        except ValueError as error:
            return str(error)
    elif clue.kind is not ClueKind.COPY and not clue.value.isprintable():
        return "has characters that a command of an image must not have"
    return ""


_CONTAINER = frozenset({ClueKind.COMMAND, ClueKind.ENTRYPOINT, ClueKind.WORKDIR, ClueKind.COPY})
_SOFTWARE = (ClueKind.TENSORFLOW, ClueKind.KERAS, ClueKind.PYTHON, ClueKind.CUDA, ClueKind.CUDNN)


def conclude(reading: ProjectReading, api: ApiMap, asked: Iterable[Clue] = ()) -> Conclusions:
    """Combine the clues: for each subject use the one of highest confidence, and of these the nearest to the top.

    Args:
        reading: The clues.
        api: Names of TensorFlow by release.
        asked: Versions to use instead of those of the project, one for each kind.
    """
    linux = tuple(clue for clue in reading.clues if _is_for_linux(clue))
    unused = list(reading.unused)
    versions = {kind: clue for kind in _SOFTWARE if (clue := _surest(linux, kind, unused))}
    keras = next((clue for clue in linux if clue.kind is ClueKind.IMPORT and clue.value == "keras"), None)
    if keras:
        versions.setdefault(ClueKind.KERAS, replace(keras, kind=ClueKind.KERAS, value=""))
    releases, missing = _releases(linux, api)
    guessed = versions.get(ClueKind.TENSORFLOW)
    if guessed and (lacking := _contradiction(guessed, releases, missing)):
        reason = f"the code uses {len(lacking)} names that no such TensorFlow has, such as {lacking[0].value}"
        reason += f" ({lacking[0].line})"
        unused.append(UnusedLine(line=guessed.line, reason=reason, warning=WarningKind.IGNORED_TENSORFLOW))
        del versions[ClueKind.TENSORFLOW]
    versions |= {clue.kind: clue for clue in asked}
    packages = tuple(_packages(linux, reading.files, unused))
    container = _of_first_dockerfile(linux, unused)
    return Conclusions(
        versions=versions,
        device=_device(linux),
        releases=releases,
        missing=missing,
        packages=packages,
        os_packages=tuple(_os_packages(linux, unused)),
        variables=tuple(_variables(linux, unused)),
        container={clue.kind: clue for clue in container if clue.kind is not ClueKind.COPY},
        copies=tuple(clue for clue in container if clue.kind is ClueKind.COPY),
        unused=(*unused, *_not_taken_over(reading.clues, linux)),
    )


def _is_for_linux(clue: Clue) -> bool:
    """Return False for a requirement whose marker excludes Linux, whatever the interpreter is."""
    if not clue.marker:
        return True
    marker = Requirement(f"x; {clue.marker}").marker
    series = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
    return marker is None or any(
        marker.evaluate({**_LINUX, "python_version": each, "python_full_version": f"{each}.0"}) for each in series
    )


def _not_taken_over(clues: Iterable[Clue], kept: Iterable[Clue]) -> Iterator[UnusedLine]:
    known = frozenset(kept)
    for clue in clues:
        if clue not in known:
            yield UnusedLine(line=clue.line, reason="is for other systems or other versions of Python")


def _of_first_dockerfile(clues: Iterable[Clue], unused: list[UnusedLine]) -> tuple[Clue, ...]:
    """Return the clues about containers and copied files of the first Dockerfile that has any, in its order."""
    about: list[Clue] = []
    for clue in clues:
        if clue.kind not in _CONTAINER:
            continue
        if problem := _problem_of_container(clue):
            unused.append(UnusedLine(line=clue.line, reason=problem))
        else:
            about.append(clue)
    first = about[0].line.file if about else ""
    others = [clue.line for clue in about if clue.line.file != first]
    unused += [UnusedLine(line=line, reason=f"the settings are taken from {first}") for line in dict.fromkeys(others)]
    return tuple(clue for clue in about if clue.line.file == first)


def _surest(clues: Iterable[Clue], kind: ClueKind, unused: list[UnusedLine]) -> Clue | None:
    """Return the surest clue with a valid range, first of equals; any with versions comes before one without."""
    about = [clue for clue in clues if clue.kind is kind]
    valid = [clue for clue in about if _is_range(clue.value)]
    unused += [UnusedLine(line=clue.line, reason="is not a range of versions") for clue in about if clue not in valid]
    best = max(valid, key=lambda clue: (bool(clue.value), clue.confidence), default=None)
    unused += [
        UnusedLine(line=clue.line, reason=f"{best.line} says {kind.value} {best.value}")
        for clue in valid
        if best and clue.value not in {"", best.value} and clue.confidence > Confidence.GUESSED
    ]
    return best


def _contradiction(
    guessed: Clue, releases: tuple[Release, ...], missing: Mapping[Release, tuple[Clue, ...]]
) -> tuple[Clue, ...]:
    """Return the names that the code uses and a guessed TensorFlow lacks, if they are many and others have them.

    A README may mention a TensorFlow in passing. A few names that are missing may be in branches for other releases.
    """
    stated = SpecifierSet(guessed.value)
    if guessed.confidence > Confidence.GUESSED or not releases or any(has_minor(stated, each) for each in releases):
        return ()
    fewest = min((names for release, names in missing.items() if has_minor(stated, release)), key=len, default=())
    return fewest if len(fewest) >= _MANY_NAMES else ()


def has_minor(stated: SpecifierSet, release: Release) -> bool:
    """Return True if a range contains a patch release of a minor release."""
    return any(stated.contains(f"{release}.{patch}") for patch in range(20))


def _is_range(text: str) -> bool:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def _device(clues: Iterable[Clue]) -> Device:
    """Return the device of the surest clue; a GPU where equal ones differ. CUDA and cuDNN are for GPUs."""
    about = [
        (clue.confidence, clue.kind is not ClueKind.DEVICE or clue.value == Device.GPU)
        for clue in clues
        if clue.kind in {ClueKind.DEVICE, ClueKind.CUDA, ClueKind.CUDNN}
    ]
    if not about:
        return Device.UNKNOWN
    return Device.GPU if max(about)[1] else Device.CPU


def _releases(clues: Iterable[Clue], api: ApiMap) -> tuple[tuple[Release, ...], Mapping[Release, tuple[Clue, ...]]]:
    """Return the releases with every name of TensorFlow that the code uses, and what each other release lacks."""
    uses: dict[str, Clue] = {}
    for clue in clues:
        if clue.kind is ClueKind.API:
            uses.setdefault(clue.value, clue)
    # A name that no release has is not one of TensorFlow: a misspelling, or an attribute of an object.
    having = {name: found for name in uses if (found := api.having(name))}
    missing = {
        release: lacking
        for release in api.releases
        if (lacking := tuple(uses[name] for name, found in having.items() if release not in found))
    }
    return tuple(release for release in api.releases if having and release not in missing), missing


def _packages(clues: tuple[Clue, ...], files: tuple[str, ...], unused: list[UnusedLine]) -> Iterator[Clue]:
    """Yield one requirement for each distribution: the surest, then the first; else those of imported modules."""
    required: dict[str, Clue] = {}
    for clue in sorted(
        (clue for clue in clues if clue.kind is ClueKind.PACKAGE), key=lambda clue: clue.confidence, reverse=True
    ):
        name = requirement_name(clue.value)
        if name in _INSTALLERS:
            unused.append(UnusedLine(line=clue.line, reason="installs packages; an image does not contain it"))
        elif required.setdefault(name, clue).value != clue.value:
            unused.append(UnusedLine(line=clue.line, reason=f"{required[name].line} says {required[name].value}"))
    own = {part for file in files for part in (*PurePosixPath(file).parts[:-1], PurePosixPath(file).stem)}
    stated = {name: clue for name, clue in required.items() if clue.confidence > Confidence.GUESSED}
    known = stated or {name: clue for name, clue in required.items() if name not in own}
    yield from (clue for clue in known.values() if _is_plain(clue, unused))
    if not stated:
        yield from _imported(clues, own, required)


def _is_plain(clue: Clue, unused: list[UnusedLine]) -> bool:
    try:
        requirement(clue.value)
    except ValueError as error:
        unused.append(UnusedLine(line=clue.line, reason=str(error)))
        return False
    return True


def _imported(clues: Iterable[Clue], own: AbstractSet[str], required: Mapping[str, Clue]) -> Iterator[Clue]:
    """Yield a requirement for each imported module that is neither in the project nor required."""
    named: dict[str, Clue] = {}
    for clue in clues:
        if clue.kind is ClueKind.IMPORT and clue.value not in own | _FRAMEWORK:
            name = _DISTRIBUTIONS.get(clue.value, clue.value.lower().replace("_", "-"))
            if name not in required:
                named.setdefault(
                    name, Clue(kind=ClueKind.PACKAGE, value=name, line=clue.line, confidence=clue.confidence)
                )
    yield from named.values()


def _os_packages(clues: Iterable[Clue], unused: list[UnusedLine]) -> Iterator[Clue]:
    seen: set[str] = set()
    for clue in clues:
        if clue.kind is not ClueKind.OS_PACKAGE or clue.value in seen:
            continue
        seen.add(clue.value)
        if problem := _problem_of_os_package(clue.value):
            unused.append(UnusedLine(line=clue.line, reason=f"{clue.value} {problem}"))
        else:
            yield clue


def _problem_of_os_package(name: str) -> str:
    """Return the reason why an OS package is not taken over; empty if it is."""
    if name in _TOOLS or name.startswith("python"):
        return "installs other software, or is part of the environment"
    try:
        os_package(name)
    except ValueError:
        return "is not the name of a package"
    return ""


def _variables(clues: Iterable[Clue], unused: list[UnusedLine]) -> Iterator[Clue]:
    named: dict[str, Clue] = {}
    for clue in clues:
        if clue.kind is not ClueKind.VARIABLE:
            continue
        name = clue.value.partition("=")[0]
        problem = variable_problem(name)
        if name.startswith(_PLATFORM_VARIABLES):
            problem = "is set by the environment"
        if problem:
            unused.append(UnusedLine(line=clue.line, reason=f"{name} {problem}"))
        else:
            named[name] = clue
    yield from named.values()
