"""`envbuilder export FORMAT ENV|LOCK`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.completion import environments
from envbuilder.cli.options import EnumChoice, source_options
from envbuilder.cli.output.printing import output_option, write_or_print
from envbuilder.cli.session import command_session
from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef, repository_of
from envbuilder.image.export.formats import ExportFormat, exported
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.image_names import checked_reference
from envbuilder.wiring.locks import known_lock


@click.command("export")
@click.argument("form", metavar="FORMAT", type=EnumChoice(ExportFormat))
@click.argument("target", metavar="[ENV|LOCK]", required=False, shell_complete=environments)
@output_option
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option(
    "--image",
    metavar="IMAGE",
    help="Image that `compose` and `devcontainer` start. Default: that of `envbuilder build`.",
)
@click.option(
    "--packages",
    metavar="DIR",
    default="packages",
    show_default=True,
    help="Directory with the files of `pylock`, as `fetch` writes it, relative to the pylock.toml.",
)
@source_options
def command(  # noqa: PLR0913  one parameter for each option
    form: ExportFormat,
    target: str | None,
    output: Path | None,
    image: str | None,
    packages: str,
    sources: Sources,
    *,
    force: bool,
) -> None:
    """Write a lock as a file of another tool.

    \b
    requirements   requirements.txt with hashes, for pip and uv
    pylock         pylock.toml (PEP 751) for files that `fetch` collected
    conda          environment.yml for conda and mamba
    compose        compose.yaml for Docker Compose
    devcontainer   devcontainer.json for editors
    """  # noqa: D301  click wants the control character itself: it keeps the lines apart
    session = command_session(target)
    lock, _ = known_lock(session, target, sources)
    reference = checked_reference(image) if image else f"{repository_of(lock.name or lock.environment)}:latest"
    profiles = session.catalog.profiles
    text = exported(lock, form, ImageRef.parse(reference), packages.rstrip("/"), profiles)
    if output and output.exists() and not force:
        raise UsageError(f"{output} already exists", hint="choose another file with -o, or overwrite it with --force")
    write_or_print(text.encode(), output)
