"""Clocks of nodes beside the clock of the machine that collected the facts."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.cluster.fleet.collection import NodeFacts
from envbuilder.core.units import quantity
from envbuilder.diagnostics.facts.facts import known
from envbuilder.diagnostics.findings import Finding, Remedy, warning

TOLERANCE = 5.0
"""Seconds that a clock may differ.

Source: clocks set by NTP agree within a second; the collecting script writes whole seconds, and the rest is left for a
slow file system. Kerberos refuses tickets from 300 s on (RFC 4120, 8.2).
"""


def clock_offset(node: NodeFacts) -> float | None:
    """Return by how many seconds a clock is ahead of that of the collecting machine; None if that is unknown.

    The probe ran between two readings of the collecting machine's clock: within them the offset is 0.
    """
    clock = known(node.facts.clock)
    if clock is None or node.run is None:
        return None
    # The readings are whole seconds, cut off.
    return min(clock.time - node.run.started, 0.0) + max(clock.time - node.run.ended - 1, 0.0)


def clock_differs(node: NodeFacts) -> Iterator[Finding]:
    """Report a clock that differs from that of the collecting machine."""
    offset = clock_offset(node)
    if offset is not None and abs(offset) > TOLERANCE:
        way = "ahead of" if offset > 0 else "behind"
        yield warning(
            "clock-differs",
            f"its clock is {quantity(abs(offset), 's')} {way} that of the machine that collected the facts",
            "certificates and tokens are refused as expired or not yet valid, files of a shared file system have times"
            " in the future, and logs of several workers have no common order",
            Remedy(text="let a time server set the clock of all nodes", command="timedatectl set-ntp true"),
        )
