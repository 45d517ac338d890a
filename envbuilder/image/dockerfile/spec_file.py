"""A commented spec for an environment, ready to be edited."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.environments import Environment
from envbuilder.image.dockerfile.templates import environment


def render_spec(row: Environment, templates: Path) -> str:
    """Return the text of a new `envbuilder.yaml`; it parses to the defaults of this environment."""
    return environment(templates).get_template("envbuilder.yaml.j2").render(row=row)
