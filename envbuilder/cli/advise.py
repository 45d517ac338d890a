"""`envbuilder advise`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.catalog.advise.advice import Spec, Wanted
from envbuilder.catalog.advise.recommend import advise, described
from envbuilder.catalog.advise.version_ranges import release_of, spec_of
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.gpu_names import gpu_asked
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.machine import Host
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.advice import answer_document, answer_text, asked_text, width
from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.core.errors import UsageError
from envbuilder.core.text_files import read_text
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.wiring.inventory import inventory


@click.command("advise")
@click.option("--tensorflow", metavar="SPEC", help="Releases: 2.4, 2.4.1, '>=2.4,<2.6'.")
@click.option("--python", metavar="X.Y", help="Interpreter.")
@click.option("--driver", metavar="X.Y[.Z]", help="Driver of the machine: `nvidia-smi` shows it.")
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="NAME[,NAME]",
    help="GPUs that must all run: K80, V100, 'RTX 3090', or a compute capability such as 8.6. Repeatable.",
)
@click.option("--keras", metavar="SPEC", help="Releases of standalone Keras.")
@click.option("--cuda", metavar="SPEC", help="Releases of the CUDA libraries.")
@click.option("--cudnn", metavar="SPEC", help="Releases of cuDNN.")
@click.option("--glibc", metavar="X.Y", help="C library of a system where the wheel is to run without a container.")
@click.option("--cpu", is_flag=True, help="Only environments without a GPU.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Facts of a machine (`doctor -o`, `probe.py --hardware`). Several: all must fit.",
)
@click.option("--base", default="", metavar="ID", help="Base of the image.")
@click.option("--limit", type=click.IntRange(1), default=5, show_default=True, help="How many to show.")
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    tensorflow: str | None,
    python: str | None,
    driver: str | None,
    gpus: tuple[str, ...],
    keras: str | None,
    cuda: str | None,
    cudnn: str | None,
    glibc: str | None,
    hosts: tuple[Path, ...],
    base: str,
    limit: int,
    *,
    cpu: bool,
    as_json: bool,
) -> None:
    """Say which environments fit, with the reasons for and against; best first.

    Where none fits: the nearest, and what to change. Exit status 0 when something fits, 1 when not. Without options:
    what this catalog would take.
    """
    here = command_settings()
    catalog = load_catalog(here.matrices)
    wanted = Wanted(
        tensorflow=_range(tensorflow, "TensorFlow"),
        python=_python(python),
        keras=_range(keras, "Keras"),
        cuda=_range(cuda, "CUDA"),
        cudnn=_range(cudnn, "cuDNN"),
        glibc=release_of(glibc, "glibc") if glibc else None,
        base=_base(catalog, base),
        cpu=cpu,
        inventory=inventory(here, catalog),
        hosts=(*_described(catalog, driver, gpus), *(_host(file) for file in hosts)),
    )
    answer = advise(catalog, wanted)
    if as_json:
        print_json(answer_document(answer, asked_text(wanted), limit))
    else:
        click.echo(answer_text(answer, asked_text(wanted), limit, width()))
    if not answer.fitting:
        raise click.exceptions.Exit(1)


def _range(text: str | None, what: str) -> Spec | None:
    return spec_of(text, what) if text else None


def _python(text: str | None) -> Release | None:
    if not text:
        return None
    return Release(release_of(text, "Python").series)


def _base(catalog: Catalog, name: str) -> str:
    known = {base.id for base in catalog.bases}
    if name and name not in known:
        raise UsageError(f"there is no base {name!r}", hint=f"there are {', '.join(sorted(known))}")
    return name


def _described(catalog: Catalog, driver: str | None, gpus: tuple[str, ...]) -> tuple[Host, ...]:
    names = [name.strip() for each in gpus for name in each.split(",") if name.strip()]
    return described(
        release_of(driver, "the driver") if driver else None, tuple(gpu_asked(catalog.cuda, name) for name in names)
    )


def _host(file: Path) -> Host:
    return host_of(decode(read_text(file), str(file)), file.name)
