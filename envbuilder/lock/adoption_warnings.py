"""Warnings about an adopted project: what its user should know before building the image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.catalog.advise.advice import Advice, Topic, Weight
from envbuilder.core.versions import Release
from envbuilder.lock.adopt import GivenUp
from envbuilder.lock.adoption import Adoption
from envbuilder.lock.project.clues import ClueKind, SourceLine, WarningKind
from envbuilder.lock.project.conclusions import Conclusions


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionWarning:
    """A doubt whether the project works in its environment.

    Attributes:
        line: Line of the project that it is about; None for one about the machine.
    """

    kind: WarningKind
    text: str
    line: SourceLine | None = None


def warnings_of(adoption: Adoption) -> tuple[AdoptionWarning, ...]:
    """Return all warnings about a project, in the order in which they are printed."""
    choice = adoption.choice
    return (
        *(warning for each in choice.given_up for warning in python_warnings(each)),
        *(machine_warnings(choice.advice) if choice.advice else ()),
        *without_tensorflow(adoption.found),
        *(missing_names(adoption, choice.advice) if choice.advice else ()),
        *_of_lines(adoption),
    )


def python_warnings(each: GivenUp) -> Iterator[AdoptionWarning]:
    """Yield a warning if a condition that was given up is Python 2."""
    if each.clue.kind is ClueKind.PYTHON and each.clue.value.startswith("==2."):
        text = "no environment has Python 2; convert the code first, for example with 2to3"
        yield AdoptionWarning(kind=WarningKind.PYTHON_2, text=text, line=each.clue.line)


def without_tensorflow(found: Conclusions) -> Iterator[AdoptionWarning]:
    """Yield a warning if neither a file nor a name in the code says which TensorFlow the project needs."""
    if not (found.versions.keys() & {ClueKind.TENSORFLOW, ClueKind.KERAS} or found.releases or found.missing):
        text = "nothing in the project says which TensorFlow it needs; choose one with --tensorflow VERSION"
        yield AdoptionWarning(kind=WarningKind.NO_TENSORFLOW, text=text)


def machine_warnings(advice: Advice) -> tuple[AdoptionWarning, ...]:
    """Return what the environment does not offer the machines that the user named."""
    about = {Topic.GPU, Topic.DRIVER, Topic.KIND}
    costs = (each.text for each in advice.reasons if each.weight is Weight.COST and each.topic in about)
    return tuple(AdoptionWarning(kind=WarningKind.MACHINE, text=text) for text in dict.fromkeys(costs))


def missing_names(adoption: Adoption, advice: Advice) -> tuple[AdoptionWarning, ...]:
    """Return a warning for each name of TensorFlow that the code uses and the environment lacks."""
    release = Release(".".join(map(str, advice.tensorflow.release[:2])))
    uses = adoption.found.missing.get(release, ())
    names = {clue.value for clue in uses}
    # A module that is missing says it for all that the code uses of it.
    return tuple(
        AdoptionWarning(
            kind=WarningKind.MISSING_NAME,
            text=f"TensorFlow {release} has no {clue.value}, which {clue.line} uses",
            line=clue.line,
        )
        for clue in uses
        if not any(name in names for name in _parents(clue.value))
    )


def _parents(name: str) -> Iterator[str]:
    """Yield the modules of a name: `tf.a` and `tf` for `tf.a.b`."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _of_lines(adoption: Adoption) -> Iterator[AdoptionWarning]:
    """Yield the lines that are not taken over and concern the whole project."""
    for each in adoption.unused:
        if each.warning:
            yield AdoptionWarning(kind=each.warning, text=f"{each.line}: {each.reason}", line=each.line)
