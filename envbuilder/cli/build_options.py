"""Options of `build`, as two values: which locks, and how."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.options import grouped, tensorflow_option
from envbuilder.image.builder import BuildOptions
from envbuilder.image.builds import Builder
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.image_requests import Selection

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


selection_options = grouped(
    "selection",
    Selection,
    click.option(
        "-t",
        "--tag",
        "tags",
        multiple=True,
        metavar="NAME[:TAG]",
        help="Default: envbuilder/NAME:latest; NAME is the environment, or `name:` of the spec.",
    ),
    click.option(
        "--base", default="", metavar="ID", help="Base to use for a row, instead of the first that can be had."
    ),
    tensorflow_option,
    click.option("--bundle", type=_FILE, help="assemble: take lock and files from a bundle."),
    click.option(
        "--key", type=_FILE, metavar="PUBLIC", help="With --bundle: refuse it unless one of these SSH keys signed it."
    ),
)
"""Which locks to build, and the names of their images; the command gets a `Selection`."""

build_options = grouped(
    "options",
    BuildOptions,
    click.option("--push", is_flag=True, help="Push every tag to the registry in its name."),
    click.option(
        "--builder",
        type=click.Choice(["auto", *(each.value for each in Builder)]),
        default="auto",
        callback=lambda _context, _option, value: None if value == "auto" else Builder(value),
        help="docker: builder.",
    ),
    click.option("--no-cache", "use_cache", flag_value=False, default=True, help="docker: build every layer again."),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="assemble: write a folder (OCI layout), a .tar (OCI archive, docker load) or a .sqsh (Apptainer, enroot).",
    ),
    click.option("--load", is_flag=True, help="assemble: give the image to the container engine; only what it lacks."),
    click.option(
        "--layer-format",
        type=click.Choice([each.value for each in LayerFormat]),
        default=LayerFormat.GZIP_SPLICED.value,
        show_default=True,
        callback=lambda _context, _option, value: LayerFormat(value),
        help="assemble: packing.",
    ),
    click.option(
        "--jobs", type=click.IntRange(0), default=0, help="assemble: layers made at once. Default: processors."
    ),
    click.option("--offline", is_flag=True, help="assemble: download nothing; use the cache folder and --bundle."),
)
"""How to build; the command gets `BuildOptions`."""
