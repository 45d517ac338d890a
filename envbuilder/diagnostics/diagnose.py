"""Diagnose a log, with the facts of a machine and a lock beside it."""

from __future__ import annotations

from collections.abc import Callable

from packaging.version import Version

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.selection import find
from envbuilder.core.errors import UnknownEnvironment
from envbuilder.core.observation import Seen
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.logs.context import Known
from envbuilder.diagnostics.logs.diagnosis import Diagnosis, diagnose
from envbuilder.diagnostics.logs.signatures import Failures
from envbuilder.lock.lock import Lock


def diagnose_log(  # noqa: PLR0913  each is asked of the caller alone
    catalog: Catalog,
    failures: Failures,
    read: Callable[[int], bytes],
    *,
    api: Callable[[], ApiMap],
    inventory: Callable[[], Inventory],
    facts: Facts | None = None,
    lock: Lock | None = None,
) -> Diagnosis:
    """Read a log to its end and diagnose it.

    Args:
        catalog: The rows.
        failures: The signatures.
        read: Returns at most that many bytes of the log, and none at its end.
        api: Returns the public names of TensorFlow.
        inventory: Returns the parts that a build can use on this machine.
        facts: Facts of the machine.
        lock: Lock of the environment that wrote it.
    """
    return diagnose(catalog, failures, read, known(catalog, facts, lock), api=api, inventory=inventory)


def known(catalog: Catalog, facts: Facts | None, lock: Lock | None) -> Known:
    """Return the known properties from facts and a lock; the lock takes precedence."""
    row = _row(catalog, lock) if lock else None
    python = facts.interpreter.value.version if facts and isinstance(facts.interpreter, Seen) else None
    return Known(
        host=host_of(facts) if facts else None,
        row=row,
        tensorflow=_release(lock, facts),
        python=Release(str(lock.python.version)) if lock else python,
    )


def _row(catalog: Catalog, lock: Lock) -> Environment | None:
    try:
        return find(catalog, lock.environment)
    except UnknownEnvironment:
        return None


def _release(lock: Lock | None, facts: Facts | None) -> Release | None:
    if lock is not None:
        return Release(".".join(map(str, Version(lock.framework_version).release)))
    if facts is not None and isinstance(facts.imported, Seen):
        return Release(".".join(map(str, Version(facts.imported.value.version).release)))
    return None
