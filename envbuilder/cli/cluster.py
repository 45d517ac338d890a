"""`envbuilder cluster slurm|kubernetes|apptainer|admission LOCK`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from envbuilder.catalog.node_requirements import description_lines, document
from envbuilder.cli.completion import environments
from envbuilder.cli.groups import Group
from envbuilder.cli.options import EnumChoice, F, grouped
from envbuilder.cli.output.printing import folded, json_option, print_json
from envbuilder.cli.session import command_session
from envbuilder.cluster.apptainer_scripts import apptainer_scripts
from envbuilder.cluster.jobs import ClusterJob, RegistryImage, write_job_files
from envbuilder.cluster.kubernetes.admission_policy import admission_policy
from envbuilder.cluster.kubernetes.manifests import ClusterSettings, manifests
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels
from envbuilder.cluster.slurm.batch_scripts import Runtime, batch_scripts
from envbuilder.cluster.slurm.constraints import read_features, slurm_constraint
from envbuilder.core.errors import UsageError
from envbuilder.core.files import read_text
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.wiring.cluster_jobs import JobChoices, cluster_job

_MOST_GPUS = 64
_MOST_WORKERS = 4096


_PRODUCT = click.option(
    "--gpu-product",
    "products",
    multiple=True,
    metavar="NAME",
    help="GPU in the cluster, as `nvidia-smi -L` prints it: adds drivers of forward compatibility. Repeatable.",
)
_UNPROVEN = click.option("--unproven", is_flag=True, help="Also use nodes that are not proven to run the image.")
_JOB = grouped(
    "choices",
    JobChoices,
    click.option(
        "--gpus",
        type=click.IntRange(0, _MOST_GPUS),
        help="GPUs of each worker. Default: 1, or 0 for a CPU environment.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1, _MOST_WORKERS),
        default=1,
        show_default=True,
        help="Number of nodes of the job.",
    ),
    _PRODUCT,
    _UNPROVEN,
)
_LABELS = click.option(
    "--driver-labels",
    "labels",
    type=EnumChoice(DriverLabels),
    default=DriverLabels.DRIVER.value,
    show_default=True,
    help="Form of the labels of the driver: nvidia.com/cuda.driver.major, or …driver-version.major of newer releases.",
)
_KUBERNETES = grouped(
    "settings",
    ClusterSettings,
    click.option("--queue", default="", metavar="NAME", help="Local queue of Kueue."),
    click.option("--pull-secret", default="", metavar="NAME", help="Secret with credentials for the registry."),
    _LABELS,
)


def _image_option(text: str) -> Callable[[F], F]:
    return click.option("--image", required=True, metavar="IMAGE", help=text)


_REGISTRY_OR_FILE = _image_option("REGISTRY/NAME@sha256:…, or the path of a .sqsh or .sif file on all nodes.")
_REGISTRY = _image_option("REGISTRY/NAME@sha256:…, as `build --push` prints it.")
_TARGET = click.argument("target", metavar="LOCK|ENV", shell_complete=environments)
_FORCE = click.option("--force", is_flag=True, help="Overwrite existing files.")
_OUTPUT = click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Directory to write.")


@click.group("cluster", cls=Group)
def command() -> None:
    """Write job files for Slurm, Kubernetes and Apptainer.

    Each job first checks its nodes in the image, and ends with the finding if a node cannot run the image. The
    required compute capabilities and drivers follow from the lock.
    """


@command.command("slurm")
@_TARGET
@_OUTPUT
@_REGISTRY_OR_FILE
@click.option(
    "--runtime",
    type=EnumChoice(Runtime),
    default=Runtime.APPTAINER.value,
    show_default=True,
    help="Program that starts the image.",
)
@click.option(
    "--features",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Output of `sinfo -h -o %f`, for --constraint: features such as cc80 and driver535.54.03.",
)
@_JOB
@_FORCE
@json_option
def slurm_command(  # noqa: PLR0913  one parameter for each option
    target: str,
    output: Path,
    image: str,
    runtime: Runtime,
    features: Path | None,
    choices: JobChoices,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write batch scripts for Slurm.

    job.sbatch checks the nodes and trains, validate.sbatch checks only, array.sbatch starts one job for each of several
    directories.
    """
    templates, job = _job(target, image, choices)
    constraint = slurm_constraint(job.requirements, read_features(read_text(features))) if features else ""
    found = batch_scripts(job, runtime, constraint, templates)
    _write(job, found, output, force=force, as_json=as_json, next_step=f"sbatch {output}/job.sbatch PROGRAM.py")


@command.command("kubernetes")
@_TARGET
@_OUTPUT
@_REGISTRY
@_JOB
@_KUBERNETES
@_FORCE
@json_option
def kubernetes_command(  # noqa: PLR0913  one parameter for each option
    target: str,
    output: Path,
    image: str,
    choices: JobChoices,
    settings: ClusterSettings,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write manifests for Kubernetes, and a base for Kustomize.

    Node affinity admits exactly the nodes that can run the image, by the labels of GPU feature discovery and node
    feature discovery.
    """
    templates, job = _job(target, image, choices)
    _registry_image(job)
    found = manifests(job, settings, templates)
    checks = f"kubectl apply -f {output}/node-check.yaml -f {output}/validate.yaml"
    _write(job, found, output, force=force, as_json=as_json, next_step=checks)


@command.command("apptainer")
@_TARGET
@_OUTPUT
@_REGISTRY_OR_FILE
@_JOB
@_FORCE
@json_option
def apptainer_command(  # noqa: PLR0913  one parameter for each option
    target: str, output: Path, image: str, choices: JobChoices, *, force: bool, as_json: bool
) -> None:
    """Write scripts for Apptainer on machines without a scheduler."""
    templates, job = _job(target, image, choices)
    if job.workers > 1:
        raise UsageError("--workers needs a scheduler", hint="`envbuilder cluster slurm`")
    found = apptainer_scripts(job, templates)
    _write(job, found, output, force=force, as_json=as_json, next_step=f"{output}/run.sh PROGRAM.py")


@command.command("admission")
@_TARGET
@_OUTPUT
@_REGISTRY
@grouped("choices", JobChoices, _PRODUCT, _UNPROVEN)
@_LABELS
@_FORCE
@json_option
def admission_command(  # noqa: PLR0913  one parameter for each option
    target: str,
    output: Path,
    image: str,
    choices: JobChoices,
    labels: DriverLabels,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write a validating admission policy for Kubernetes.

    It refuses pods and jobs that use the image without the node affinity of its lock, by a tag instead of a digest,
    or on a node that the scheduler did not choose.
    """
    templates, job = _job(target, image, choices)
    found = (admission_policy(job, _registry_image(job), labels, templates),)
    _write(job, found, output, force=force, as_json=as_json, next_step=f"kubectl apply -f {output}/admission.yaml")


def _job(target: str, image: str, choices: JobChoices) -> tuple[Path, ClusterJob]:
    session = command_session(target)
    return session.settings.templates, cluster_job(session, target, image, choices)


def _registry_image(job: ClusterJob) -> RegistryImage:
    if not isinstance(job.image, RegistryImage):
        raise UsageError(
            "Kubernetes starts images of registries only", hint="`envbuilder build LOCK --push --tag REGISTRY/NAME:TAG`"
        )
    return job.image


def _write(  # noqa: PLR0913  what is written, and how it is reported
    job: ClusterJob, found: Iterable[TextFile], folder: Path, *, force: bool, as_json: bool, next_step: str
) -> None:
    paths = write_job_files(found, folder, force=force)
    if as_json:
        shown: dict[str, Any] = {
            "schema": 1,
            "folder": str(folder),
            "files": [path.name for path in paths],
            "nodes": document(job.requirements),
        }
        print_json(shown)
        return
    click.echo(folded(f"wrote {folder}: {', '.join(path.name for path in paths)}"))
    for line in description_lines(job.requirements):
        click.echo(folded(line))
    click.echo(f"next: `{next_step}`")
