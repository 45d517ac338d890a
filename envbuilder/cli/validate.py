"""`envbuilder validate IMAGE|ENV`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.places import places
from envbuilder.cli.reports import ALL_TIERS, FORMAT_NAMES, finish
from envbuilder.cli.subjects import readable_subject
from envbuilder.cli.targets import read_lock
from envbuilder.errors import EngineUnavailable, UsageError
from envbuilder.model.findings import Report, Tier
from envbuilder.model.locks import Lock
from envbuilder.model.rows import Catalog
from envbuilder.reporting.registry import format_named
from envbuilder.workflows.validate import ImageEngine, Validation, validate
from envbuilder.workflows.validate_static import validate_static


@click.command("validate")
@click.argument("image", metavar="IMAGE|ENV")
@click.option(
    "--engine",
    type=click.Choice(["auto", "docker", "assemble"]),
    default="auto",
    show_default=True,
    help="Where the image is. assemble: in the store; run by runc or namespaces. auto: the engine if it has it.",
)
@click.option(
    "--tier",
    type=ALL_TIERS,
    help="How far to go. static: nothing is run. Default: gpu when the engine has GPUs, else cpu.",
)
@click.option("--require", type=ALL_TIERS, help="Tier that must be proven: what could not be looked at is a failure.")
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Lock to check against, instead of the one in the image.",
)
@click.option("--format", "format_name", type=FORMAT_NAMES, default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option(
    "--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML to a file too."
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=900.0, show_default=True, help="Seconds for the probe."
)
def command(  # noqa: PLR0913  one parameter for each option
    image: str,
    engine: str,
    tier: str | None,
    require: str | None,
    lock_file: Path | None,
    format_name: str,
    junit_file: Path | None,
    timeout: float,
    *,
    as_json: bool,
) -> None:
    """Look inside an image and check it against its lock and row. Exit status 1 on findings.

    Nothing passes by being left out: what could not be looked at is reported as not proven, and --require makes that a
    failure.
    """
    here = places()
    catalog = load_catalog(here.matrices)
    composition = Composition(here, catalog)
    wanted = Validation(
        image=_image(catalog, image),
        tier=Tier(tier) if tier else None,
        required=Tier(require) if require else None,
        timeout=timeout,
    )
    composition.say(f"looking inside {wanted.image}")
    lock = read_lock(lock_file) if lock_file else None
    if wanted.tier is Tier.STATIC:
        report = _static(composition, wanted, lock, engine)
    else:
        report = validate(catalog, wanted, lock, _engine(composition, wanted.image, engine), time.monotonic)
    if junit_file:
        junit_file.write_text(format_named("junit").write(report, color=False), encoding="utf-8")
    finish(report, "json" if as_json else format_name)


def _static(composition: Composition, wanted: Validation, lock: Lock | None, engine: str) -> Report:
    if wanted.required not in {None, Tier.STATIC}:
        raise UsageError("tier static runs nothing", hint="use --tier cpu or --tier gpu with --require")
    work = composition.places.cache / "work"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="validate-") as folder:
        subject = readable_subject(composition, wanted.image, engine, Path(folder))
        return validate_static(subject, lock, Path(folder), time.monotonic, required=wanted.required)


def _engine(composition: Composition, image: str, name: str) -> ImageEngine:
    """Where to look: in the container engine if it has the image, else in the store of assembled images."""
    if name == "docker":
        return composition.engine
    if name == "assemble":
        return composition.daemonless.runner
    try:
        if composition.engine.image(image) is not None or composition.records.image(image) is None:
            return composition.engine
    except EngineUnavailable:
        composition.say("no container engine answers; looking among the assembled images")
    return composition.daemonless.runner


def _image(catalog: Catalog, name: str) -> str:
    """The image of a row when the name is a row's, else the name."""
    rows = {row.id for row in catalog.environments}
    return f"envbuilder/{name}:latest" if name in rows else name
