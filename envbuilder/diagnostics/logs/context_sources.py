"""The context of a log, from the facts of a machine and from a lock or an environment."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import Version

from envbuilder.catalog.buildable import Inventory, passed_over
from envbuilder.catalog.environments import Environment
from envbuilder.core.observation import known
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.logs.context import LogContext
from envbuilder.lock.lock import Lock


def context_of_lock(lock: Lock) -> LogContext:
    """Return the releases in a lock."""
    return LogContext(tensorflow=_release(Version(lock.framework_version)), python=lock.python.version)


def context_of_environment(row: Environment, available: Inventory) -> LogContext:
    """Return the releases of an environment, on the base that a build here would take."""
    others = passed_over(row, row.bases, available)
    base = next(choice for choice in row.bases if choice.system.id not in others)
    return LogContext(tensorflow=_release(row.framework.version), python=base.python)


def context_of(facts: Facts | None, ran_in: LogContext | None) -> LogContext:
    """Return the context of a log.

    Args:
        facts: Facts of the machine, or of the container.
        ran_in: Releases of a lock or an environment; they precede those of the facts, because they were meant to run.
    """
    interpreter, imported = (known(facts.interpreter), known(facts.imported)) if facts else (None, None)
    seen = LogContext(
        tensorflow=_release(Version(imported.version)) if imported else None,
        python=interpreter.version if interpreter else None,
    )
    return replace(ran_in or seen, host=host_of(facts) if facts else None)


def _release(version: Version) -> Release:
    return Release(".".join(map(str, version.release)))
