"""A commented spec, ready to be edited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from envbuilder.catalog.environments import Environment
from envbuilder.image.dockerfile.templates import environment, one_line
from envbuilder.lock.spec import Spec


def render_spec(
    row: Environment,
    templates: Path,
    spec: Spec | None = None,
    notes: Mapping[str, str] = MappingProxyType({}),
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a new `envbuilder.yaml`; it parses to the spec.

    Args:
        row: The environment.
        templates: Directory of the templates.
        spec: Fields that differ from the defaults of the environment; None for none. User, memory policy, sources,
            ports, labels and health check are not written.
        notes: Comments by field, package, OS package, variable or path of an own file, such as the line of a project
            that it comes from.
        left_out: Packages that are written as comments, with the reasons.
    """

    def note(name: str) -> str:
        return f"  # {one_line(notes[name])}" if name in notes else ""

    template = environment(templates).get_template("envbuilder.yaml.j2")
    return template.render(row=row, spec=spec or Spec(environment=row.id), note=note, left_out=left_out)
