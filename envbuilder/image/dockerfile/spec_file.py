"""A commented spec for a row, ready to be edited."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.environments import Environment
from envbuilder.image.dockerfile.templates import environment


def render_spec(row: Environment, templates: Path) -> str:
    """The text of a new `envbuilder.yaml`; it reads back as the defaults for this row."""
    return environment(templates).get_template("envbuilder.yaml.j2").render(row=row)
