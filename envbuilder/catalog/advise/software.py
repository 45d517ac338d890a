"""Reasons from what is installed: TensorFlow's release, interpreter, base, CUDA libraries, C library, Keras."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.advise.advice import AdviceReason, Change, Query, RequestedRange, Topic, Weight
from envbuilder.catalog.advise.candidates import Candidate, proven_on
from envbuilder.catalog.environments import OLDEST_PYTHON, PythonProvider
from envbuilder.catalog.keras import KerasFacts, KerasRule
from envbuilder.core.versions import Release


def software_reasons(query: Query, candidate: Candidate) -> Iterator[AdviceReason]:
    """Yield the comparisons of the requested software with the software of an image."""
    yield from _tensorflow(query, candidate)
    yield from _python(query, candidate)
    yield from _base(query, candidate)
    yield from _library(Topic.CUDA, "CUDA", query.cuda, candidate.choice.cuda, candidate)
    yield from _library(Topic.CUDNN, "cuDNN", query.cudnn, candidate.choice.cudnn, candidate)
    yield from _glibc(query, candidate)


def _names_minor(asked: RequestedRange, version: Version) -> bool:
    """Return True if a range covers patch releases of this minor release, so that only the patch release is wrong."""
    return any(_minor(each.version) == version.release[:2] for each in asked.versions if each.operator in {"==", "==="})


def _minor(text: str) -> tuple[int, ...]:
    return Version(text.removesuffix(".*")).release[:2]


def _tensorflow(query: Query, candidate: Candidate) -> Iterator[AdviceReason]:
    version = candidate.row.framework.version
    sources = candidate.row.framework.sources
    if not candidate.is_own_release:
        own = candidate.own.framework.version
        trap = next((each.advisory for each in candidate.own.framework.others if each.version == version), None)
        warning = f"; known trap: {trap.title}" if trap else ""
        yield AdviceReason(
            topic=Topic.PATCH,
            weight=Weight.COST,
            text=f"TensorFlow {version} is another patch release than {own}, which was measured and tested{warning}",
            has=str(version),
            sources=trap.sources if trap else sources,
        )
    if query.tensorflow is None:
        return
    asked = query.tensorflow
    if version in asked:
        yield _ok(Topic.TENSORFLOW, f"TensorFlow {version} is what was asked for", asked.text, version)
        return
    patch = _names_minor(asked, version)
    topic = Topic.PATCH if patch else Topic.TENSORFLOW
    there = f"TensorFlow {version}" if patch else f"{candidate.own.id} (TensorFlow {version})"
    yield AdviceReason(
        topic=topic,
        weight=Weight.AGAINST,
        text=f"TensorFlow is {version}, not {asked.text}",
        asked=asked.text,
        has=str(version),
        sources=sources,
        change=Change(topic=topic, text=f"{there} instead of TensorFlow {asked.text}"),
    )


def _python(query: Query, candidate: Candidate) -> Iterator[AdviceReason]:
    have, asked = candidate.choice.python, query.python
    if asked is None:
        return
    if have == asked:
        how = "" if candidate.has_own_python else " (not the version that the environment was tested with)"
        yield _ok(Topic.PYTHON, f"there is a wheel for Python {asked}{how}", str(asked), have)
        return
    system = candidate.choice.system.id
    if asked < OLDEST_PYTHON:
        text = f"Python before {OLDEST_PYTHON} is not supported"
    elif asked in candidate.row.pythons and candidate.choice.python_provider is PythonProvider.OS:
        text = f"the interpreter of {system} is {have}"
    else:
        text = f"TensorFlow {candidate.row.framework.version} has wheels for {_span(candidate.row.pythons)}"
    yield AdviceReason(
        topic=Topic.PYTHON,
        weight=Weight.AGAINST,
        text=text,
        asked=str(asked),
        has=str(have),
        sources=candidate.row.framework.sources,
        change=Change(topic=Topic.PYTHON, text=f"Python {have} instead of {asked}"),
    )


def _span(releases: tuple[Release, ...]) -> str:
    """Return releases in words.

    Example:
        >>> _span((Release("3.6"), Release("3.7"), Release("3.8")))
        'Python 3.6 to 3.8'
    """
    if len(releases) < 2:
        return f"Python {releases[0]}" if releases else "no Python that can be installed"
    return f"Python {releases[0]} to {releases[-1]}"


def _base(query: Query, candidate: Candidate) -> Iterator[AdviceReason]:
    system = candidate.choice.system
    if query.base and system.id != query.base:
        yield AdviceReason(
            topic=Topic.BASE,
            weight=Weight.AGAINST,
            text=f"the base is {system.id}",
            asked=query.base,
            has=system.id,
            sources=system.sources,
            change=Change(topic=Topic.BASE, text=f"the base {system.id} instead of {query.base}"),
        )
    elif candidate.place:
        yield _further_down(query, candidate)
    elif query.base:
        yield _ok(Topic.BASE, f"the base is {system.id}", query.base, system.id)


def _further_down(query: Query, candidate: Candidate) -> AdviceReason:
    """Return the reason for a base that is not the row's first; it may be the one that the evidence is for."""
    name, first = candidate.choice.system.id, candidate.own.bases[0]
    text = f"{name} is not the preferred base, which is {first.system.id}"
    tried = proven_on(candidate.row, candidate.choice)
    if tried.rank > proven_on(candidate.row, first).rank:
        return _ok(Topic.BASE, f"{text}, but the one with the stronger evidence ({tried.value})", query.base, name)
    return AdviceReason(
        topic=Topic.BASE,
        weight=Weight.COST,
        text=text,
        asked=query.base,
        has=name,
        sources=candidate.choice.system.sources,
        price=0,
    )


def _library(
    topic: Topic, name: str, asked: RequestedRange | None, have: Release | None, candidate: Candidate
) -> Iterator[AdviceReason]:
    if asked is None:
        return
    if have is not None and have in asked:
        yield _ok(topic, f"{name} is {have}", asked.text, have)
        return
    text = f"{name} is {have}" if have else f"{candidate.own.id} has no {name}"
    yield AdviceReason(
        topic=topic,
        weight=Weight.AGAINST,
        text=f"{text}, not {asked.text}",
        asked=asked.text,
        has=str(have or ""),
        sources=candidate.choice.system.sources,
        change=Change(topic=topic, text=f"{name} {have} instead of {asked.text}" if have else f"no {name} at all"),
    )


def _glibc(query: Query, candidate: Candidate) -> Iterator[AdviceReason]:
    if query.glibc is None:
        return
    need = candidate.row.framework.glibc
    if need <= query.glibc:
        yield _ok(Topic.GLIBC, f"the wheel needs glibc {need}, so it also runs without a container", query.glibc, need)
        return
    yield AdviceReason(
        topic=Topic.GLIBC,
        weight=Weight.AGAINST,
        text=f"the wheel needs glibc {need}",
        asked=str(query.glibc),
        has=str(need),
        sources=candidate.row.framework.sources,
        change=Change(
            topic=Topic.GLIBC,
            text=f"run it in its container, which has glibc {candidate.choice.system.glibc}, or a system with {need}",
        ),
    )


def _ok(topic: Topic, text: str, asked: object, have: object) -> AdviceReason:
    return AdviceReason(topic=topic, weight=Weight.FOR, text=text, asked=str(asked), has=str(have))


ANY = SpecifierSet()


def keras_to_install(facts: KerasFacts, asked: RequestedRange | None, tensorflow: Version) -> Version | None:
    """Return the newest Keras for a TensorFlow, in the requested range if possible; None if none is known."""
    if asked is None:
        return None
    found = facts.newest(tensorflow, asked.versions) or facts.newest(tensorflow, ANY)
    return found[0] if found else None


def keras_reasons(facts: KerasFacts, asked: RequestedRange | None, tensorflow: Version) -> Iterator[AdviceReason]:
    """Yield the reasons for and against the requested Keras with a TensorFlow."""
    if asked is None:
        return
    found = facts.newest(tensorflow, asked.versions)
    if found is not None:
        keras, rule = found
        yield AdviceReason(
            topic=Topic.KERAS,
            weight=Weight.FOR,
            text=f"Keras {keras} works with TensorFlow {tensorflow}: {rule.reason}",
            asked=asked.text,
            has=str(keras),
            sources=rule.sources,
        )
        return
    yield _failing(facts, asked, tensorflow)


def _failing(facts: KerasFacts, asked: RequestedRange, tensorflow: Version) -> AdviceReason:
    among = [keras for keras in facts.releases if keras in asked]
    known = [(keras, rule) for keras in reversed(among) if (rule := facts.rule(keras, tensorflow)) is not None]
    if among and not known:
        return AdviceReason(
            topic=Topic.KERAS,
            weight=Weight.COST,
            text=f"not proven: the catalog has no record of Keras {asked.text} with TensorFlow {tensorflow}",
            asked=asked.text,
            price=3,
            is_doubt=True,
        )
    if not among:
        return _against(facts, asked, tensorflow, f"there is no Keras {asked.text} on the index", None)
    keras, rule = known[0]
    return _against(
        facts, asked, tensorflow, f"Keras {keras} does not work with TensorFlow {tensorflow}: {rule.reason}", rule
    )


def _against(
    facts: KerasFacts, asked: RequestedRange, tensorflow: Version, text: str, rule: KerasRule | None
) -> AdviceReason:
    other = facts.newest(tensorflow, ANY)
    instead = f"keras=={other[0]}" if other else "tf.keras, which is inside TensorFlow,"
    return AdviceReason(
        topic=Topic.KERAS,
        weight=Weight.AGAINST,
        text=text,
        asked=asked.text,
        has=str(other[0]) if other else "",
        sources=rule.sources if rule else (),
        change=Change(topic=Topic.KERAS, text=f"{instead} instead of Keras {asked.text}"),
    )
