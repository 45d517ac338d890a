"""The context of a log, from the facts of a machine and from a lock or an environment."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from envbuilder.catalog.buildable import Inventory, passed_over
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.selection import find
from envbuilder.core.errors import UnknownEnvironment
from envbuilder.core.observation import Seen
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.logs.context import LogContext
from envbuilder.lock.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEnvironment:
    """The environment that a program ran in.

    Attributes:
        environment: Id of its row, which the catalog may not have any more.
        tensorflow: Version of TensorFlow.
        python: Version of the interpreter.
    """

    environment: str
    tensorflow: Version
    python: Release


def environment_of_lock(lock: Lock) -> LoggedEnvironment:
    """Return the environment of a lock."""
    return LoggedEnvironment(
        environment=lock.environment,
        tensorflow=Version(lock.framework_version),
        python=Release(str(lock.python.version)),
    )


def environment_of_row(row: Environment, available: Inventory) -> LoggedEnvironment:
    """Return the environment of a row, on the base that a build here would take."""
    others = passed_over(row, row.bases, available)
    base = next(choice for choice in row.bases if choice.system.id not in others)
    return LoggedEnvironment(environment=row.id, tensorflow=row.framework.version, python=base.python)


def context_of(catalog: Catalog, facts: Facts | None, ran_in: LoggedEnvironment | None) -> LogContext:
    """Return the context of a log; the environment precedes the facts, because it is what was meant to run."""
    row = _row(catalog, ran_in) if ran_in else None
    python = facts.interpreter.value.version if facts and isinstance(facts.interpreter, Seen) else None
    return LogContext(
        host=host_of(facts) if facts else None,
        row=row,
        tensorflow=_release(ran_in, facts),
        python=ran_in.python if ran_in else python,
    )


def _row(catalog: Catalog, ran_in: LoggedEnvironment) -> Environment | None:
    try:
        return find(catalog, ran_in.environment)
    except UnknownEnvironment:
        return None


def _release(ran_in: LoggedEnvironment | None, facts: Facts | None) -> Release | None:
    if ran_in is not None:
        return Release(".".join(map(str, ran_in.tensorflow.release)))
    if facts is not None and isinstance(facts.imported, Seen):
        return Release(".".join(map(str, Version(facts.imported.value.version).release)))
    return None
