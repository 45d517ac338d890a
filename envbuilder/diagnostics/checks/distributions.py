"""Checks of the installed Python distributions."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.checks.check import not_seen
from envbuilder.diagnostics.checks.results import Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Unseen


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
    beside = f", {extra} more beside them" if extra else ""
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
