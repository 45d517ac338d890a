"""A commented spec, ready to be edited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from envbuilder.catalog.environments import Environment
from envbuilder.image.dockerfile.templates import environment, one_line
from envbuilder.lock.spec_values import Spec


def render_spec(
    row: Environment, templates: Path, spec: Spec | None = None, notes: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the text of a new `envbuilder.yaml`; it parses to the spec.

    Args:
        row: The environment.
        templates: Directory of the templates.
        spec: Fields that differ from the defaults of the environment; None for none. Own files, user, memory policy and
            sources are not written.
        notes: Comments by field, package, OS package or variable, such as the line of a project that it comes from.
    """

    def note(name: str) -> str:
        return f"  # {one_line(notes[name])}" if name in notes else ""

    template = environment(templates).get_template("envbuilder.yaml.j2")
    return template.render(row=row, spec=spec or Spec(environment=row.id), note=note)
