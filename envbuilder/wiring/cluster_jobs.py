"""Jobs on a cluster from what a command line names."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.node_requirements import RUNS, RUNS_OR_UNPROVEN, node_requirements
from envbuilder.cluster.image_stack import image_stack
from envbuilder.cluster.jobs import ClusterJob, job_image
from envbuilder.core.errors import UsageError
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import digest
from envbuilder.lock.obtain import refuse_unpinned
from envbuilder.lock.staleness import environment_of
from envbuilder.lock.targets import LockTarget, target
from envbuilder.wiring.locks import known_lock
from envbuilder.wiring.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChoices:
    """Options of all commands that write job files.

    Attributes:
        gpus: GPUs of each worker; None for one, or none in a CPU environment.
        products: Names of GPUs in the cluster.
        unproven: Whether to admit nodes of which it is not proven that they run the image.
    """

    gpus: int | None = None
    workers: int = 1
    products: tuple[str, ...] = ()
    unproven: bool = False


def cluster_job(session: Session, name: str, image: str, choices: JobChoices) -> ClusterJob:
    """Return the job of a lock, or of an environment.

    Raises:
        UsageError: There is no such lock; it does not pin everything; or image and options do not fit it.
    """
    meant = target(session.catalog, name)
    if isinstance(meant, LockTarget):
        refuse_unpinned(meant.lock, str(meant.path))
    lock, _ = known_lock(session, name, Sources())
    if lock.cuda is None and choices.gpus:
        raise UsageError(f"{lock.environment} does not use GPUs", hint="leave --gpus out, or choose a GPU environment")
    row = environment_of(session.catalog, lock)
    requirements = node_requirements(
        session.catalog.cuda,
        image_stack(row, lock),
        accepted=RUNS_OR_UNPROVEN if choices.unproven else RUNS,
        products=choices.products,
    )
    gpus = choices.gpus if choices.gpus is not None else int(lock.cuda is not None)
    return ClusterJob(
        lock=lock,
        lock_digest="" if lock.unpinned else digest(lock),
        image=job_image(image),
        requirements=requirements,
        gpus=gpus,
        workers=choices.workers,
    )
