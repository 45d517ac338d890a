"""The environment and the spec for a project, from what its files say."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations, product

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.advise.advice import Advice, Query, RequestedRange, Topic, requested_range
from envbuilder.catalog.advise.recommend import PRICES, advise
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.releases import newest_release
from envbuilder.catalog.selection import find
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release
from envbuilder.lock.adopted_packages import PackageChange
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.project.clues import Clue, ClueKind, Confidence, SourceLine
from envbuilder.lock.project.conclusions import Conclusions, Device, has_minor
from envbuilder.lock.spec import Spec

_TOPICS = {
    Topic.PATCH: ClueKind.TENSORFLOW,
    Topic.PYTHON: ClueKind.PYTHON,
    Topic.KERAS: ClueKind.KERAS,
    Topic.CUDA: ClueKind.CUDA,
    Topic.CUDNN: ClueKind.CUDNN,
}
"""What may be given up so that an environment fits, and the clue that asked for it."""
DROPPED = frozenset(_TOPICS)
"""Subjects of the conditions that are given up without being asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A condition of the project that the environment does not meet.

    Attributes:
        instead: What the environment has.
    """

    clue: Clue
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentChoice:
    """The environment for a project.

    Attributes:
        advice: The environment; None if none fits.
        given_up: Conditions that had to be given up for it.
        newest: Newest minor release of TensorFlow on the day of the project's last change, if the project itself does
            not say which is the newest that it works with.
        nearest: If none fits: the environments that need the fewest changes, with these changes.
    """

    advice: Advice | None
    given_up: tuple[GivenUp, ...] = ()
    newest: Release | None = None
    nearest: tuple[Advice, ...] = ()

    @property
    def is_newer(self) -> bool:
        """True if the environment has a newer TensorFlow than the project can have been tried with."""
        return self.newest is not None and self.advice is not None and _minor(self.advice.tensorflow) > self.newest


def newest_tried(catalog: Catalog, found: Conclusions, day: date | None) -> Release | None:
    """Return the newest minor release that a project can have been tried with; None if it or the user says so.

    Args:
        catalog: The environments, and when releases were published.
        found: What the project needs; a range with an upper bound, or of the user, says which release is the newest.
        day: Day of the last change of the project; None if unknown.
    """
    clue = found.versions.get(ClueKind.TENSORFLOW)
    last = max((each.release for each in catalog.releases), default=None)
    newest = newest_release(catalog.releases, day) if day else None
    if newest is None or last is None:
        return None
    if clue and (clue.line.file.startswith("--") or not has_minor(SpecifierSet(clue.value), last)):
        return None
    known = [each.release for each in catalog.releases if each.release <= newest]
    stated = SpecifierSet(clue.value if clue else "")
    # A project that needs a later release, or has names of one, was changed later than the day says.
    is_later = not any(has_minor(stated, each) for each in known) or (found.releases and found.releases[0] > newest)
    return None if newest == last or is_later else newest


def choose_environment(
    catalog: Catalog, found: Conclusions, machine: Query, newest: Release | None = None
) -> EnvironmentChoice:
    """Return the environment that fits with the cheapest changes to the conditions of the project.

    A TensorFlow that is not newer than the project is preferred to a change, unless it is doubtful on the machines.

    Args:
        catalog: The environments.
        found: What the project needs.
        machine: The machines, and whether a CPU environment is wanted; other conditions are those of the project.
        newest: Newest minor release of TensorFlow to prefer; None for any.
    """
    for topics, last in product(_changes(found), dict.fromkeys((newest, None))):
        recommendation = advise(catalog, _query(found, machine, frozenset(topics), last))
        fitting = [each for each in recommendation.fitting if Topic.PYTHON in topics or _has_python(found, each)]
        if fitting and not (last and fitting[0].is_doubtful):
            given_up = tuple(_given_up(found, topics, fitting[0]))
            return EnvironmentChoice(advice=fitting[0], given_up=given_up, newest=newest)
    nearest = advise(catalog, _query(found, machine, frozenset(), newest))
    return EnvironmentChoice(advice=None, newest=newest, nearest=(*nearest.fitting, *nearest.nearest))


def requested_versions(tensorflow: str | None, python: str | None) -> tuple[Clue, ...]:
    """Return the versions that a user asks for, as clues that are preferred to those of the project.

    Args:
        tensorflow: A range, or a version; None for that of the project.
        python: A version; likewise.

    Raises:
        UsageError: One of them is not a range.

    Example:
        >>> [clue.value for clue in requested_versions("1.15", "3.6")]
        ['==1.15.*', '==3.6.*']
    """
    asked = (
        (ClueKind.TENSORFLOW, "--tensorflow", tensorflow, "TensorFlow"),
        (ClueKind.PYTHON, "--python", python, "Python"),
    )
    return tuple(
        Clue(
            kind=kind,
            value=str(requested_range(text, what).versions),
            line=SourceLine(file=option, number=0),
            confidence=Confidence.STATED,
        )
        for kind, option, text, what in asked
        if text
    )


def _changes(found: Conclusions) -> list[tuple[Topic, ...]]:
    """Return the sets of conditions to give up, cheapest first."""
    possible = [topic for topic, kind in _TOPICS.items() if found.range_of(kind)]
    sets = [each for count in range(len(possible) + 1) for each in combinations(possible, count)]
    return sorted(sets, key=lambda topics: sum(PRICES[topic] for topic in topics))


def _minor(version: Version) -> Release:
    return Release(f"{version.major}.{version.minor}")


def _query(found: Conclusions, machine: Query, given_up: frozenset[Topic], newest: Release | None) -> Query:
    def wanted(kind: ClueKind, topic: Topic, what: str) -> RequestedRange | None:
        text = found.range_of(kind)
        return requested_range(text, what) if text and topic not in given_up else None

    return replace(
        machine,
        tensorflow=_tensorflow(found, newest, is_patch_free=Topic.PATCH in given_up),
        keras=wanted(ClueKind.KERAS, Topic.KERAS, "Keras"),
        cuda=wanted(ClueKind.CUDA, Topic.CUDA, "CUDA"),
        cudnn=wanted(ClueKind.CUDNN, Topic.CUDNN, "cuDNN"),
        python=None if Topic.PYTHON in given_up else exact_python(found.range_of(ClueKind.PYTHON)),
        cpu=machine.cpu or (found.device is Device.CPU and not machine.has_gpus),
    )


def _tensorflow(found: Conclusions, newest: Release | None, *, is_patch_free: bool) -> RequestedRange | None:
    """Return the releases of TensorFlow that the project states and, of several, those with all names that it uses."""
    text = found.range_of(ClueKind.TENSORFLOW)
    if newest:
        text = ",".join(filter(None, (text, f"<{_next_minor(newest)}")))
    if text and is_patch_free:
        text = ",".join(any_patch(str(part)) for part in SpecifierSet(text))
    stated = SpecifierSet(text)
    every = [release for release in (*found.releases, *found.missing) if has_minor(stated, release)]
    having = [release for release in found.releases if release in every]
    if having and len(every) > 1:
        last = having[-1]
        text = ",".join(filter(None, (text, f">={having[0]}", f"<{_next_minor(last)}")))
    return requested_range(text, "TensorFlow") if text else None


def _next_minor(release: Release) -> str:
    return f"{release.parts[0]}.{release.parts[1] + 1}"


def any_patch(part: str) -> str:
    """Return an exact version as all patch releases of its minor release; other conditions unchanged.

    Example:
        >>> any_patch("==1.4.0"), any_patch(">=2.0"), any_patch("==2.4.*")
        ('==1.4.*', '>=2.0', '==2.4.*')
    """
    version = part.removeprefix("==").removesuffix(".*")
    if version == part or not part.startswith("=="):
        return part
    return f"=={'.'.join(version.split('.')[:2])}.*"


def exact_python(text: str) -> Release | None:
    """Return the interpreter that a range selects by its major and minor number; None for a wider range.

    Example:
        >>> str(exact_python("==3.6.8")), exact_python(">=3.6"), str(exact_python("==2.7.*"))
        ('3.6', None, '2.7')
    """
    parts = list(SpecifierSet(text))
    numbers = parts[0].version.removesuffix(".*").split(".") if len(parts) == 1 else []
    if len(numbers) < 2 or parts[0].operator not in {"==", "==="}:
        return None
    return Release(".".join(numbers[:2]))


def _has_python(found: Conclusions, advice: Advice) -> bool:
    wanted = SpecifierSet(found.range_of(ClueKind.PYTHON))
    # Ranges such as >=3.6.1 are about patch releases; an environment has the last one of its series.
    return any(f"{advice.python.series}.{patch}" in wanted for patch in (0, 99))


def _given_up(found: Conclusions, topics: Sequence[Topic], advice: Advice) -> Iterator[GivenUp]:
    has = {
        Topic.PATCH: f"TensorFlow {advice.tensorflow}",
        Topic.PYTHON: f"Python {advice.python.series}",
        Topic.KERAS: "no standalone Keras of these versions",
        Topic.CUDA: f"CUDA {advice.cuda}" if advice.cuda else "no CUDA",
        Topic.CUDNN: f"cuDNN {advice.cudnn}" if advice.cudnn else "no cuDNN",
    }
    for topic in topics:
        yield GivenUp(clue=found.versions[_TOPICS[topic]], instead=has[topic])


def spec_of(
    catalog: Catalog, found: Conclusions, advice: Advice, day: date | None, files: tuple[OwnFile, ...] = ()
) -> Spec:
    """Return the spec of a project, with all its packages as they are.

    Args:
        catalog: The environments.
        found: What the project needs.
        advice: Its environment.
        day: Day of the last change of the project; the packages are those of that day if the environment's are older.
        files: Own files.
    """
    row = find(catalog, advice.environment)
    python = advice.python
    markers = {"python_version": python.series, "python_full_version": f"{python.series}.0"}
    packages = [clue for clue in found.packages if _applies(clue, markers)]
    standalone = _standalone_keras(catalog, found, advice)
    pairs = (clue.value.partition("=") for clue in found.variables)
    return Spec(
        environment=row.id,
        tensorflow=None if advice.is_own_release else advice.tensorflow,
        python=None if python.series == row.default_python.series else Release(python.series),
        packages=tuple(sorted({*(clue.value for clue in packages), *standalone})),
        apt=tuple(sorted({clue.value for clue in found.os_packages})),
        env=tuple(sorted({name: value for name, _, value in pairs}.items())),
        cutoff=day if day and day > row.cutoff else None,
        files=files,
        settings=ContainerSettings(
            command=_words(found, ClueKind.COMMAND),
            entrypoint=_words(found, ClueKind.ENTRYPOINT),
            workdir=found.container[ClueKind.WORKDIR].value if ClueKind.WORKDIR in found.container else "",
        ),
    )


def _words(found: Conclusions, kind: ClueKind) -> tuple[str, ...] | None:
    clue = found.container.get(kind)
    return tuple(shlex.split(clue.value)) if clue else None


def _requirement_of(clue: Clue) -> str:
    """Return the requirement that a line states; empty if the line is something else."""
    text = clue.line.text.partition("#")[0].strip()
    try:
        Requirement(text)
    except InvalidRequirement:
        return ""
    return text


def software_changes(catalog: Catalog, found: Conclusions, advice: Advice) -> tuple[PackageChange, ...]:
    """Return what the environment has in place of the TensorFlow and the Keras of a project, where that differs."""
    row = find(catalog, advice.environment)
    changes: list[PackageChange] = []
    framework = found.versions.get(ClueKind.TENSORFLOW)
    asked = _requirement_of(framework) if framework else ""
    if asked and normalized(Requirement(asked).name) != row.framework.package:
        after = f"{row.framework.package}=={advice.tensorflow} of {row.id}"
        changes.append(
            PackageChange(before=asked, after=after, reason="an image has the TensorFlow of its environment")
        )
    keras = found.versions.get(ClueKind.KERAS)
    for after in _standalone_keras(catalog, found, advice):
        if keras and after != f"keras{keras.value}":
            reason = f"the newest Keras of this range that is known to work with TensorFlow {advice.tensorflow}"
            changes.append(PackageChange(before=f"keras{keras.value}", after=after, reason=reason))
    return tuple(changes)


def _standalone_keras(catalog: Catalog, found: Conclusions, advice: Advice) -> tuple[str, ...]:
    """Return the requirement of standalone Keras: the newest that is known to work, within the range of the project."""
    clue = found.versions.get(ClueKind.KERAS)
    if clue is None:
        return ()
    works = catalog.keras.newest(advice.tensorflow, SpecifierSet(clue.value))
    return (f"keras=={works[0]}" if works else f"keras{clue.value}",)


def _applies(clue: Clue, markers: dict[str, str]) -> bool:
    marker = Requirement(f"x; {clue.marker}").marker if clue.marker else None
    return marker is None or marker.evaluate(markers)
