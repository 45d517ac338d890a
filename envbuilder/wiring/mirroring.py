"""Files of locks in a repository of a registry, as `envbuilder mirror` sends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.references import ImageRef
from envbuilder.image.gather import Unavailable
from envbuilder.image.mirror.artifact import inputs_artifact, inputs_tag
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.push import push_artifact
from envbuilder.oci.transfers import PushResult
from envbuilder.wiring.build_inputs import add_files, gatherer
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import registry_client
from envbuilder.wiring.vendor_archives import refuse_licenses


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """The outcome of mirroring one lock.

    Attributes:
        lock: Digest of the lock.
        push: The push of its files; None if some are missing, and nothing was sent.
        image: Digest of the image that the artifact refers to; empty if the repository does not have it.
        base: Image of the base, which is not among the files; empty for a base of packages.
    """

    lock: str
    environment: str
    push: PushResult | None
    image: str
    base: str
    missing: tuple[Unavailable, ...]


def mirror_inputs(session: Session, targets: Sequence[str], named: Sources, repository: str) -> tuple[Mirrored, ...]:
    """Fetch the files of some locks, and send those that a repository lacks; return the outcomes, in their order.

    Without a target, those of the lock in this directory. The repository is `HOST/NAME`.

    Raises:
        UsageError: A target is unknown, or its lock is out of date.
        LicenseNotAccepted: A lock takes libraries out of archives with a license, which is not accepted.
        SourceUnreachable: The registry does not respond, or refuses.
        DiskFull: There is no room.
    """
    names: Sequence[str | None] = targets or (None,)
    with registry_client(session.settings)() as client:
        return tuple(_mirrored(session, name, named, repository, client) for name in names)


def _mirrored(session: Session, name: str | None, named: Sources, repository: str, client: RegistryClient) -> Mirrored:
    lock, sources = obtain_lock(session, name, named)
    # Files that are in the store from an earlier run are sent too, so the license is not only a matter of the download.
    refuse_licenses(session, lock, sources)
    add_files(session, lock, sources)
    missing = tuple(gatherer(session, sources).fetch(lock))
    target = ImageRef.parse(f"{repository}:{inputs_tag(lock)}")
    subject = _image(client, target, lock)
    outcome = Mirrored(
        lock=digest(lock),
        environment=lock.environment,
        push=None,
        image=subject.digest if subject else "",
        base=lock.base.image if lock.base.kind is BaseKind.IMAGE else "",
        missing=missing,
    )
    if missing:
        return outcome
    artifact = inputs_artifact(lock, session.store, subject)
    return replace(outcome, push=push_artifact(client, artifact, target, session.store, listener=session.listener))


def _image(client: RegistryClient, target: ImageRef, lock: Lock) -> Descriptor | None:
    """Return the manifest of the image of a lock, if the repository has it: a registry lists referrers beside it."""
    if lock.image is None:
        return None
    found = client.repository(target, push=True).manifest(lock.image.manifest)
    return found.descriptor if found else None
