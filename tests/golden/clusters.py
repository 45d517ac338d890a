"""Job files of a cluster as people get them: one folder for each scheduler and runtime."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from envbuilder.catalog.node_requirements import node_requirements
from envbuilder.cluster.apptainer_scripts import apptainer_scripts
from envbuilder.cluster.image_stack import image_stack
from envbuilder.cluster.jobs import (
    NODE_CHECK,
    WORKER_CHECK,
    ClusterJob,
    FileImage,
    ImageFormat,
    JobImage,
    RegistryImage,
)
from envbuilder.cluster.kubernetes.admission_policy import admission_policy
from envbuilder.cluster.kubernetes.manifests import ClusterSettings, manifests
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels
from envbuilder.cluster.slurm.batch_scripts import Runtime, batch_scripts
from envbuilder.core.references import ImageRef
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.lock.lockfile import digest
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import TEMPLATES, real_catalog, real_row
from tests.golden.products import made

REGISTRY = RegistryImage(reference=ImageRef.parse("registry.example/team/tf@sha256:" + "a" * 64))
FILE = FileImage(path=Path("/shared/images/tf.sqsh"), sha256="b" * 64, format=ImageFormat.SQUASHFS)


@cache
def job(environment: str, image: JobImage, gpus: int, workers: int = 1) -> ClusterJob:
    """Return a job of an environment on Debian."""
    lock = made(Spec(environment=environment, base="debian-bookworm"))
    requirements = node_requirements(real_catalog().cuda, image_stack(real_row(environment), lock))
    return ClusterJob(
        lock=lock, lock_digest=digest(lock), image=image, requirements=requirements, gpus=gpus, workers=workers
    )


@cache
def folders() -> dict[str, tuple[TextFile, ...]]:
    """Return the files by folder."""
    gpu, cpu = "tf-2.15-cuda12.2", "tf-2.15-cpu"
    constraint = "(cc70&driver535.54.03)|(cc80&driver550.54.14)"
    settings = ClusterSettings(queue="team-queue", pull_secret="registry-login")
    return {
        "clusters/slurm-apptainer": batch_scripts(job(gpu, FILE, 4, 2), Runtime.APPTAINER, constraint, TEMPLATES),
        "clusters/slurm-pyxis": batch_scripts(job(gpu, REGISTRY, 1), Runtime.PYXIS, "", TEMPLATES),
        "clusters/slurm-podman": batch_scripts(job(cpu, REGISTRY, 0), Runtime.PODMAN, "", TEMPLATES),
        "clusters/apptainer": apptainer_scripts(job(gpu, REGISTRY, 1), TEMPLATES),
        "clusters/kubernetes": manifests(job(gpu, REGISTRY, 4, 2), settings, TEMPLATES),
        "clusters/kubernetes-cpu": manifests(job(cpu, REGISTRY, 0), ClusterSettings(), TEMPLATES),
        "clusters/admission": (admission_policy(job(gpu, REGISTRY, 1), REGISTRY, DriverLabels.DRIVER, TEMPLATES),),
    }


def cluster_files() -> Iterator[tuple[str, str]]:
    """Yield path and text of each file, but for those with programs that check nodes and workers."""
    for folder, found in folders().items():
        for file in found:
            if file.path not in {NODE_CHECK, WORKER_CHECK, "node-check.yaml"}:
                yield f"{folder}/{file.path}", file.text
