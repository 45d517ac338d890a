"""`envbuilder render ENV|LOCK -o DIR`."""

from __future__ import annotations

from pathlib import Path

import click
from packaging.version import Version

from envbuilder.cli.documents.projects import Rendered
from envbuilder.cli.options import lock_argument, source_options, tensorflow_option
from envbuilder.cli.output.printing import folded, json_option, print_json
from envbuilder.cli.session import command_session
from envbuilder.core.references import ImageRef
from envbuilder.core.structure import document_of
from envbuilder.image.plan.layers import image_reference
from envbuilder.image.render import rendered, write
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import digest
from envbuilder.wiring.build_inputs import DockerIngredients, add_archives
from envbuilder.wiring.locks import renderable_lock


@click.command("render")
@lock_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Directory to write.")
@click.option(
    "--host-settings",
    is_flag=True,
    help="Copy CA bundle, index and mirror settings of this host to host/ in that directory.",
)
@tensorflow_option
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    target: str | None,
    output: Path,
    tensorflow: Version | None,
    sources: Sources,
    *,
    host_settings: bool,
    as_json: bool,
) -> None:
    """Write a Dockerfile and its build context to a directory.

    `docker build` builds it without envbuilder. Behind a proxy that re-signs TLS, use --host-settings: the settings are
    mounted during single build steps and are in no layer, but do not commit them.

    If no base of ENV is available, the Dockerfile lists what is not pinned and cannot be built.
    """
    session = command_session(target)
    lock, merged = renderable_lock(session, target, sources, tensorflow=tensorflow)
    add_archives(session, merged)
    # What is not pinned cannot be built: no archive is fetched for it.
    inputs = DockerIngredients(session).context_files(
        lock, merged, host_settings=host_settings, libraries=not lock.unpinned
    )
    files = rendered(lock, session.settings.templates)
    write(files, output, inputs)
    base = image_reference(lock)
    building = image_reference(lock.build_stage) if lock.has_build_base else None
    if as_json:
        paths = sorted(
            [
                *(file.path for file in files.texts),
                *(file.path for file in files.attachments),
                *(file.path for file in inputs.libraries),
                *(f"host/{file.name}" for file in inputs.host),
            ]
        )
        identity = None if lock.unpinned else digest(lock)
        found = {"folder": output, "lock": identity, "base": base, "build_base": building, "files": paths}
        print_json(document_of(Rendered, lock, **found))
        return
    count = len(files.texts) + len(files.attachments) + len(inputs.libraries) - 1
    click.echo(f"wrote {output}: Dockerfile and {count} files in its build context")
    if lock.unpinned:
        click.echo(folded(f"does not build: not pinned: {'; '.join(lock.unpinned)}"))
        return
    click.echo(folded(f"next: `docker build -t {lock.environment} {output}`, which needs {_where(base, building)}"))


def _where(base: ImageRef, building: ImageRef | None) -> str:
    given = ", which `envbuilder build` loads into the engine"
    if building:
        return f"the bases {base} and {building} (BUILD_BASE){given}"
    return f"the base {base}{'' if base.digest else given}"
