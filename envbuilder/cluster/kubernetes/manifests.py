"""Manifests that check the nodes of a job with an image, and train in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.node_requirements import nvidia_require
from envbuilder.cluster.jobs import ClusterJob, check_files, header_lines
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels, selector_terms
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.image.dockerfile.templates import environment

PORT = 2222
"""Port of the workers' gRPC servers; each pod has an address of its own."""
SHARED_MEMORY = "8Gi"
_WAIT = 1200
"""Seconds for all workers to meet: pods are scheduled one after the other, and each node pulls the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Settings of a Kubernetes cluster.

    Attributes:
        queue: Local queue of Kueue; empty for none.
        pull_secret: Secret with credentials for the registry; empty for none.
    """

    queue: str = ""
    pull_secret: str = ""
    labels: DriverLabels = DriverLabels.DRIVER


def manifests(job: ClusterJob, settings: ClusterSettings, templates: Path) -> tuple[TextFile, ...]:
    """Return the manifests of a job with an image in a registry, and a base for Kustomize, sorted by path."""
    several = job.workers > 1
    names = [
        "node-check",
        "validate",
        "validate-nodes",
        "kustomization",
        *(["workers", "jobset"] if several else ["job"]),
    ]
    values = _values(job, settings) | {
        "main": "workers.yaml" if several else "job.yaml",
        "check": check_files(job),
    }
    jinja = environment(templates / "cluster" / "kubernetes")
    return tuple(
        TextFile(
            path=f"{name}.yaml",
            text=jinja.get_template(f"{name}.yaml.j2").render(values | {"tf_config": _tf_config(job, name)}).lstrip(),
        )
        for name in sorted(names)
    )


def _values(job: ClusterJob, settings: ClusterSettings) -> dict[str, object]:
    return {
        "job": job,
        "lines": header_lines(job.requirements),
        "terms": selector_terms(job.requirements, settings.labels, whole_gpus=job.gpus > 1),
        "require": nvidia_require(job.requirements),
        "queue": settings.queue,
        "pull_secret": settings.pull_secret,
        "port": PORT,
        "shm": SHARED_MEMORY,
        "wait": _WAIT,
        "quoted": quoted,
    }


def quoted(text: str) -> str:
    """Return a text as a double-quoted YAML value; YAML reads every JSON text."""
    return json.dumps(text, ensure_ascii=False)


def _tf_config(job: ClusterJob, manifest: str) -> str:
    """Return the variables of one worker, none if there are no others; Kubernetes expands `$(WORKER_INDEX)`."""
    if job.workers == 1:
        return ""
    service = f"{job.name}-validate" if manifest == "validate" else job.name
    pod = f"{job.name}-worker-0" if manifest == "jobset" else service
    addresses = [f"{pod}-{number}.{service}:{PORT}" for number in range(job.workers)]
    config = (
        f'{{"cluster": {{"worker": {json.dumps(addresses)}}}, "task": {{"type": "worker", "index": $(WORKER_INDEX)}}}}'
    )
    field = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    return (
        f"- {{name: WORKER_INDEX, valueFrom: {{fieldRef: {{fieldPath: {quoted(field)}}}}}}}\n"
        "# Every release with MultiWorkerMirroredStrategy reads it: all workers, and which of them this is.\n"
        f"- {{name: TF_CONFIG, value: {quoted(config)}}}\n"
    )
