"""`envbuilder fleet probe|check`: the machines of a cluster together."""

from __future__ import annotations

import click

from envbuilder.cli.groups import LazyGroup, Sections

_SECTIONS: Sections = {
    "Commands": {
        "probe": ("envbuilder.cli.fleet_probe", "Write a script that probes every node and collects the facts."),
        "check": ("envbuilder.cli.fleet_check", "Check which images run on which nodes, and what to change."),
    },
}


@click.group("fleet", cls=LazyGroup, sections=_SECTIONS)
def command() -> None:
    """Probe the nodes of a cluster, and judge all of them together."""
