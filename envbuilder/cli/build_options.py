"""Options of `build`, as two values: the selection of locks, and the build options."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.options import LAYER_CACHE, EnumChoice, base_option, cache_from_option, grouped, tensorflow_option
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
        help="Image name. Repeatable. Default: envbuilder/NAME:latest, with NAME of the environment or of the spec.",
    ),
    base_option,
    tensorflow_option,
    click.option("--bundle", type=_FILE, help="assemble: use the lock and the files of a bundle."),
    click.option(
        "--key", type=_FILE, metavar="PUBLIC", help="With --bundle: require a signature by one of these SSH keys."
    ),
)
"""Selection of locks, and the names of their images; the command receives a `Selection`."""

build_options = grouped(
    "options",
    BuildOptions,
    click.option("--push", is_flag=True, help="Push each tag to the registry in its name."),
    click.option(
        "--builder",
        type=click.Choice(["auto", *(each.value for each in Builder)]),
        default="auto",
        callback=lambda _context, _option, value: None if value == "auto" else Builder(value),
        help="docker: build with BuildKit or with the classic builder. auto: BuildKit if it works with this engine.",
    ),
    click.option("--no-cache", "use_cache", flag_value=False, default=True, help="docker: do not use the build cache."),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="assemble: write an OCI layout (directory), an OCI archive (.tar), a squashfs (.sqsh) or a SIF (.sif).",
    ),
    click.option(
        "--attestations",
        is_flag=True,
        help="With -o: also write bill of materials and provenance into a layout or archive.",
    ),
    click.option("--load", is_flag=True, help="assemble: load the image into Docker; send missing layers only."),
    click.option(
        "--layer-format",
        type=EnumChoice(LayerFormat),
        default=LayerFormat.GZIP_SPLICED.value,
        show_default=True,
        help="assemble: compression of layers.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(0),
        default=0,
        help="assemble: layers to write in parallel. Default: number of processors.",
    ),
    click.option(
        "--offline", is_flag=True, help="assemble: use only the cache directory and --bundle; download nothing."
    ),
    cache_from_option,
    click.option(
        "--cache-to",
        type=LAYER_CACHE,
        metavar="REGISTRY/REPOSITORY",
        default="",
        help="assemble: add the layers made here to this layer cache.",
    ),
)
"""Options of the build; the command receives `BuildOptions`."""
