"""Checks of the interpreter, its distributions, the C library and the processor."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.checks.check import not_seen
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Unseen


def python_version(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the interpreter is that of the lock, as far as the lock specifies it."""
    if isinstance(facts.interpreter, Unseen):
        return not_seen("the interpreter", facts.interpreter)
    want, have = expectation.python, facts.interpreter.value.version
    exact = len(want.parts)
    if have.head(exact) == want.head(exact):
        return Passed(seen=f"Python {have}")
    return failure(
        problem=f"Python is {have}, the lock has {want}",
        remedy=f"rebuild from the lock: `envbuilder build {expectation.environment}`",
    )


def glibc_floor(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the C library has the symbol versions that the wheel requires."""
    if isinstance(facts.interpreter, Unseen):
        return not_seen("the C library", facts.interpreter)
    have, floor = facts.interpreter.value.glibc, expectation.glibc
    if have is None:
        return failure(
            problem="the C library is not glibc; TensorFlow's wheels are linked against glibc",
            remedy="use a base with glibc (Debian, Ubuntu), not musl (Alpine)",
        )
    if have >= floor:
        return Passed(seen=f"glibc {have}, at least {floor} is required")
    return failure(
        problem=f"glibc is {have}, {expectation.framework} {expectation.framework_version} needs {floor}",
        remedy=f"use a base with glibc {floor} or newer; `envbuilder show {expectation.environment}` lists them",
    )


def cpu_avx(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the processor has AVX if the wheel uses it unconditionally."""
    if isinstance(facts.machine, Unseen):
        return not_seen("the processor", facts.machine)
    avx = facts.machine.value.avx
    if not expectation.needs_avx:
        return Passed(seen="this wheel does not need AVX")
    if avx is None:
        return NotProven(reason="/proc/cpuinfo does not list the processor's instruction sets")
    if avx:
        return Passed(seen="the processor has AVX")
    return failure(
        problem="the processor has no AVX; importing this wheel is terminated by SIGILL",
        remedy="run on a processor with AVX (Intel since 2011, AMD since 2011), or pass the host's processor to the"
        " virtual machine (`-cpu host`)",
    )


def distributions_present(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that every pin of the lock is installed in its version; additional distributions are ignored."""
    if isinstance(facts.distributions, Unseen):
        return not_seen("the installed distributions", facts.distributions)
    installed = dict(facts.distributions.value)
    wrong = [
        f"{name} is {installed[name]} instead of {version}" if name in installed else f"{name} {version} is missing"
        for name, version in expectation.distributions
        if not (name in installed and same_version(installed[name], version))
    ]
    if wrong:
        return failure(
            problem="; ".join(wrong),
            remedy=f"rebuild from the lock: `envbuilder build {expectation.environment}`; nothing may be installed"
            " into the image afterwards (put it into envbuilder.yaml)",
        )
    extra = len(installed) - len(expectation.distributions)
    beside = f", and {extra} others" if extra else ""
    return Passed(seen=f"all {len(expectation.distributions)} of the lock{beside}")


def same_version(left: str, right: str) -> bool:
    """Return True if two versions are equal according to PEP 440.

    Example:
        >>> same_version("1.0", "1.0.0")
        True
    """
    try:
        return Version(left) == Version(right)
    except InvalidVersion:
        return left == right
