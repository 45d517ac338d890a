"""Batch scripts that check the nodes of an allocation with an image, and train in it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from envbuilder.cluster.jobs import ClusterJob, FileImage, ImageFormat, RegistryImage, check_files, header_lines
from envbuilder.core.errors import UsageError
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.image.dockerfile.templates import environment

SHARED_MEMORY = "8g"
"""Limit of /dev/shm, not a reservation: NCCL uses some MiB for each GPU, data loaders a few batches."""


_WAIT = 120
"""Seconds for all workers to meet: `srun` starts them together, and the check of the nodes has copied the image."""


class Runtime(StrEnum):
    """Program that starts the image on a node."""

    APPTAINER = "apptainer"
    PYXIS = "pyxis"
    PODMAN = "podman"


def batch_scripts(job: ClusterJob, runtime: Runtime, constraint: str, templates: Path) -> tuple[TextFile, ...]:
    """Return the files of a job for `sbatch`, sorted by path; an empty constraint is none.

    Raises:
        UsageError: The runtime does not start such an image.
    """
    values = {
        "job": job,
        "runtime": runtime.value,
        "constraint": constraint,
        "container_image": _pyxis_image(job) if runtime is Runtime.PYXIS else "",
        "lines": header_lines(job.requirements),
        "shm": SHARED_MEMORY,
        "wait": _WAIT,
    }
    jinja = environment(templates / "cluster" / "slurm")
    scripts = [
        TextFile(path=name, text=jinja.get_template(f"{name}.j2").render(values).lstrip(), executable=True)
        for name in _scripts(job)
    ]
    return tuple(sorted((*scripts, *launcher(job, runtime, templates), *check_files(job)), key=lambda each: each.path))


def launcher(job: ClusterJob, runtime: Runtime, templates: Path) -> tuple[TextFile, ...]:
    """Return the script `in-image` of a runtime; none for pyxis, where `srun` starts the image itself.

    Raises:
        UsageError: The runtime does not start such an image.
    """
    if runtime is Runtime.PYXIS:
        return ()
    if runtime is Runtime.PODMAN and isinstance(job.image, FileImage):
        raise UsageError(
            f"podman does not start {job.image.path.name}",
            hint="use an image of a registry: `--image REGISTRY/NAME@sha256:…`, or `--runtime apptainer`",
        )
    suffix = job.image.format if isinstance(job.image, FileImage) else ImageFormat.SIF
    values = {"job": job, "suffix": suffix.value, "shm": SHARED_MEMORY}
    script = environment(templates / "cluster").get_template(f"in-image-{runtime}.j2").render(values)
    return (TextFile(path="in-image", text=script, executable=True),)


def _scripts(job: ClusterJob) -> Iterator[str]:
    yield "job.sbatch"
    yield "validate.sbatch"
    if job.workers > 1:
        yield "with-tf-config"
    else:
        yield "array.sbatch"


def _pyxis_image(job: ClusterJob) -> str:
    """Return the value of `--container-image`; the host of a registry is separated by `#`.

    Source: https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md, URI of docker images, read 2026-11-23.
    """
    match job.image:
        case RegistryImage(reference=reference):
            host, _, name = reference.repository.partition("/")
            return f"{host}#{name}@{reference.digest}"
        case FileImage(path=path, format=ImageFormat.SQUASHFS):
            return str(path)
        case FileImage(path=path):
            raise UsageError(
                f"pyxis does not start {path.name}",
                hint="use a .sqsh file, or an image of a registry: REGISTRY/NAME@sha256:…",
            )
