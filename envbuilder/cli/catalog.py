"""`envbuilder catalog audit|prove|availability`, for maintainers of the catalog."""

from __future__ import annotations

import click

from envbuilder.cli.groups import LazyGroup, Sections

_SECTIONS: Sections = {
    "Commands": {
        "audit": ("envbuilder.cli.audit", "Measure a TensorFlow wheel and compare it with its environment."),
        "prove": ("envbuilder.cli.prove", "Lock, install and run environments, and record the result."),
        "availability": ("envbuilder.cli.availability", "Check that the index still has all files of bundled locks."),
    },
}


@click.group("catalog", cls=LazyGroup, sections=_SECTIONS, environments=tuple(_SECTIONS["Commands"]))
def command() -> None:
    """Measure, prove and check the environments of the catalog."""
