"""Output of `adopt`: text, the document of `--json`, and the comments of the spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envbuilder.catalog.advise.advice import Advice, Topic
from envbuilder.cli.documents import projects as documents
from envbuilder.cli.output.printing import folded, heading, section
from envbuilder.core.names import requirement_name
from envbuilder.core.structure import document_of
from envbuilder.lock.adopt import DROPPED, GivenUp
from envbuilder.lock.adopted_packages import PackageChange
from envbuilder.lock.adoption import Adoption, OtherPython
from envbuilder.lock.adoption_warnings import (
    AdoptionWarning,
    machine_warnings,
    missing_names,
    python_warnings,
    warnings_of,
    without_tensorflow,
)
from envbuilder.lock.project.clues import Clue, ClueKind, SourceLine, UnusedLine

_TITLES = {
    ClueKind.TENSORFLOW: "TensorFlow",
    ClueKind.KERAS: "Keras",
    ClueKind.PYTHON: "Python",
    ClueKind.CUDA: "CUDA",
    ClueKind.CUDNN: "cuDNN",
}
_MOST_NAMES = 5
_WIDEST = 36
"""Columns of a conclusion; behind a longer one, its line is not aligned."""
_LONGEST_NOTE = 200


def adoption_text(adoption: Adoption, columns: int) -> str:
    """Return what was found in a project, its environment, and what had to change."""
    return "\n".join(folded(line, columns) if line else "" for line in _lines(adoption))


def _lines(adoption: Adoption) -> Iterator[str]:
    day = f"; last change {adoption.last_change}" if adoption.last_change else ""
    count = len(adoption.files)
    yield f"read {count} file{'' if count == 1 else 's'}{day}"
    yield from section("What the project says", _found_lines(adoption))
    yield ""
    yield heading(_headline(adoption))
    yield from _environment_lines(adoption)
    yield from section("What had to change", map(_change_line, adoption.changes))
    if adoption.other_python:
        yield from section("Pins with wheels for another Python", _other_python_lines(adoption.other_python))
    yield from section("Not taken over", _unused_lines(adoption.unused))


def _found_lines(adoption: Adoption) -> Iterator[str]:
    rows = list(_found(adoption))
    width = max((len(what) for what, _ in rows if len(what) <= _WIDEST), default=0)
    for what, where in rows:
        yield f"  {what:<{width}}  {where}".rstrip()


def _found(adoption: Adoption) -> Iterator[tuple[str, str]]:
    """Yield each conclusion, and the line that it comes from."""
    found = adoption.found
    for kind, clue in found.versions.items():
        yield f"{_TITLES[kind]} {clue.value or '(any version)'}", _origin(clue)
    if found.releases and not found.range_of(ClueKind.TENSORFLOW):
        yield f"TensorFlow {found.releases[0]} to {found.releases[-1]}", "have all names that the code uses"
    if adoption.choice.newest:
        yield f"TensorFlow up to {adoption.choice.newest}", f"the newest on {adoption.last_change}, the last change"
    yield f"device: {found.device.value}", ""
    for clue in (*found.packages, *found.os_packages, *found.variables):
        yield clue.value, _origin(clue)
    for clue in (*found.container.values(), *found.copies):
        yield f"{clue.kind.value}: {clue.value}", _origin(clue)


def _origin(clue: Clue) -> str:
    return f"{clue.line} ({clue.confidence.name.lower()})"


def _headline(adoption: Adoption) -> str:
    advice = adoption.choice.advice
    if advice is None:
        return "No environment fits. The nearest ones and what to change"
    proven = advice.proven if advice.proven.is_run else f"{advice.proven}, never run here"
    contents = f"TensorFlow {advice.tensorflow}, Python {advice.python}, proven: {proven}"
    return f"Environment {advice.environment}: {contents}"


def _environment_lines(adoption: Adoption) -> Iterator[str]:
    choice = adoption.choice
    for each in choice.given_up:
        yield f"  changed: {_given_up(each)}"
        yield from map(_warning_line, python_warnings(each))
    if choice.advice and choice.is_newer:
        yield f"  changed: TensorFlow {choice.advice.tensorflow}, published after the last change of the project"
    if choice.advice:
        yield from map(_warning_line, machine_warnings(choice.advice))
        yield from map(_warning_line, without_tensorflow(adoption.found))
        yield from _missing_lines(adoption, choice.advice)
    for nearest in choice.nearest[:3] if not choice.advice else ():
        changes = "; ".join(change.text for change in nearest.changes) or "another Python"
        yield f"  {nearest.environment}: {changes}"
    if choice.nearest and not choice.advice:
        yield f"  to try one: {_trial(choice.nearest[0])}"


def _warning_line(warning: AdoptionWarning) -> str:
    return f"  warning: {warning.text}"


def _trial(nearest: Advice) -> str:
    """Return the command that uses the nearest environment all the same."""
    if {change.topic for change in nearest.changes} <= {Topic.TENSORFLOW, *DROPPED}:
        return f"this command with `--tensorflow {'.'.join(map(str, nearest.tensorflow.release[:2]))}`"
    return f"`envbuilder init {nearest.environment}`, and add the packages above to the spec"


def _given_up(each: GivenUp) -> str:
    return f"{each.instead} instead of {_TITLES[each.clue.kind]} {each.clue.value} ({each.clue.line})"


def _missing_lines(adoption: Adoption, advice: Advice) -> Iterator[str]:
    """Yield the names of TensorFlow that the code uses and the environment lacks."""
    missing = missing_names(adoption, advice)
    yield from map(_warning_line, missing[:_MOST_NAMES])
    if len(missing) > _MOST_NAMES:
        yield f"  warning: and {len(missing) - _MOST_NAMES} more names"
    having = adoption.found.releases
    if missing and having:
        yield f"  TensorFlow {having[0]} to {having[-1]} have all names that the code uses"


def _unused_lines(unused: tuple[UnusedLine, ...]) -> Iterator[str]:
    """Yield the lines that are not taken over, each once: names with the same reason stand together."""
    reasons: dict[SourceLine, dict[str, dict[str, None]]] = {}
    for each in unused:
        name, _, reason = each.reason.partition(" ")
        reasons.setdefault(each.line, {}).setdefault(reason, {})[name] = None
    for line, found in reasons.items():
        explanation = "; ".join(
            f"{', '.join(names)}{': each' if len(names) > 1 else ''} {reason}".strip()
            for reason, names in found.items()
        )
        yield f"  {f'{line} {line.text}'.rstrip()}: {explanation}"


def _change_line(change: PackageChange) -> str:
    return f"  {change.before}: {f'now {change.after}' if change.after else 'left out'}; {change.reason}"


def _other_python_lines(other: OtherPython) -> Iterator[str]:
    python = other.advice.python.series
    has = "has wheels" if len(other.pins) == 1 else "have wheels"
    yield f"  {', '.join(other.pins)}: {has} for Python {python}"
    command = f"this command with `--python {python}`, and with `-o FILE` if the spec exists"
    yield f"  to try it: {command}; the environment is then {other.advice.environment}"


def notes(adoption: Adoption) -> Mapping[str, str]:
    """Return the comments of the spec: the lines of the project that its fields come from, by field or value."""
    found = adoption.found
    by_package = {requirement_name(clue.value): str(clue.line) for clue in found.packages}
    keras = found.versions.get(ClueKind.KERAS)
    if keras:
        by_package["keras"] = str(keras.line)
    for change in adoption.changes:
        if change.package in by_package:
            by_package[change.package] += _shortened(f"; {change.before} there: {change.reason}")
    packages = adoption.spec.packages if adoption.spec else ()
    framework = found.versions.get(ClueKind.TENSORFLOW)
    python = found.versions.get(ClueKind.PYTHON)
    return {
        **{package: by_package[name] for package in packages if (name := requirement_name(package)) in by_package},
        **{clue.value: str(clue.line) for clue in found.os_packages},
        **{clue.value.partition("=")[0]: str(clue.line) for clue in found.variables},
        **({"environment": str(framework.line), "tensorflow": str(framework.line)} if framework else {}),
        **({"python": str(python.line)} if python else {}),
        **({"cutoff": "last change of the project"} if adoption.last_change else {}),
        **{kind.value: str(clue.line) for kind, clue in found.container.items()},
    }


def left_out(adoption: Adoption) -> Mapping[str, str]:
    """Return the packages of the project that are not in the spec, with the reasons."""
    return {change.before: _shortened(change.reason) for change in adoption.changes if not change.after}


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NOTE else f"{line[: _LONGEST_NOTE - 1]}…"


def adoption_document(
    adoption: Adoption,
    written: Path | None,
    lock: dict[str, object] | None,
    failure: dict[str, object] | None = None,
) -> dict[str, object]:
    """Return the document of `--json`.

    `failure` is the error that ended the lock.
    """
    found, choice, spec = adoption.found, adoption.choice, adoption.spec
    return {
        "schema": 1,
        "files": list(adoption.files),
        "last_change": str(adoption.last_change) if adoption.last_change else None,
        "clues": [
            _clue(clue)
            for clue in (
                *(*found.versions.values(), *found.packages, *found.os_packages, *found.variables),
                *(*found.container.values(), *found.copies),
            )
        ],
        "own_files": {file.path: file.source for file in spec.files} if spec else {},
        "device": found.device.value,
        "releases": [str(release) for release in found.releases],
        "newest_release": str(choice.newest) if choice.newest else None,
        "environment": choice.advice.environment if choice.advice else None,
        "given_up": [_clue(each.clue, instead=each.instead) for each in choice.given_up],
        "nearest": [
            {"environment": each.environment, "changes": [change.text for change in each.changes]}
            for each in choice.nearest
        ],
        "warnings": [_warning(each) for each in warnings_of(adoption)],
        "packages": list(spec.packages) if spec else [],
        "source_builds": list(spec.source_builds) if spec else [],
        "changes": [document_of(documents.PackageChange, each) for each in adoption.changes],
        "other_python": _other_python(adoption.other_python) if adoption.other_python else None,
        "unused": [
            document_of(documents.UnusedLine, each.line, line=each.line.number, reason=each.reason)
            for each in adoption.unused
        ],
        "spec": str(written) if written else None,
        "lock": lock,
        "lock_error": failure,
    }


def _other_python(other: OtherPython) -> dict[str, Any]:
    return document_of(
        documents.OtherPython, other, python=other.advice.python.series, environment=other.advice.environment
    )


def _warning(warning: AdoptionWarning) -> dict[str, Any]:
    line = warning.line
    return document_of(
        documents.AdoptionWarning,
        warning,
        file=line.file if line else None,
        line=line.number if line else None,
    )


def _clue(clue: Clue, **given: str) -> dict[str, Any]:
    kind = documents.GivenUp if given else documents.Clue
    line = clue.line
    return document_of(kind, clue, file=line.file, line=line.number, confidence=clue.confidence.name.lower(), **given)
