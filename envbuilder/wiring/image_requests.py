"""Requests of `build`: locks from the command line, with the names of their images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import matching
from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef, image_name
from envbuilder.image.attestation.signatures import verify
from envbuilder.image.builder import Feature, ImageRequest, default_names
from envbuilder.image.bundle import open_bundle
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.wiring.build_inputs import add_files
from envbuilder.wiring.image_names import REFERENCE
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.trust import report_lock_trust
from envbuilder.wiring.vendor_archives import refuse_licenses

NAME = "{name}"
"""Placeholder in `--tag` for the name of an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The selection of locks to build, and the names of their images.

    Attributes:
        tags: References for the image, which may contain `{name}`; empty means the default ones.
        base: Base for environments; empty means the first that is available.
        tensorflow: Patch release for environments; None means theirs.
        key: Public keys, one of which must have signed the bundle; None for any bundle.
    """

    tags: tuple[str, ...] = ()
    base: str = ""
    tensorflow: Version | None = None
    bundle: Path | None = None
    key: Path | None = None

    @property
    def features(self) -> frozenset[Feature]:
        """Features that the engine has to support."""
        return frozenset([Feature.BUNDLE] if self.bundle else [])


def checked(selection: Selection, *, push: bool) -> Selection:
    """Return a selection whose tags are complete references.

    Raises:
        UsageError: A tag is not a reference; or an option requires another one.
    """
    if push and not selection.tags:
        raise UsageError("--push requires a registry", hint="use a tag with its host: --tag localhost:5000/team/tf:1")
    if selection.key and not selection.bundle:
        raise UsageError("--key requires --bundle", hint="add --bundle FILE")
    try:
        tags = tuple(_complete(tag) for tag in selection.tags)
    except ValueError as error:
        raise UsageError(f"--tag: {error}", hint=REFERENCE) from error
    return replace(selection, tags=tags)


def _complete(tag: str) -> str:
    """Return a tag as a complete reference; it may contain the placeholder of a name."""
    stand_in = "envbuilder-name"
    return str(ImageRef.parse(tag.replace(NAME, stand_in))).replace(stand_in, NAME)


def image_requests(
    session: Session, targets: tuple[str, ...], selection: Selection, sources: Sources, *, offline: bool
) -> tuple[ImageRequest, ...]:
    """Return the requests, in the order of the command line; named interpreter archives are added to the cache.

    Targets are environments, globs over their ids, and locks; none means the lock in this directory.

    Raises:
        UsageError: A name is unknown; or two images would have the same name.
        LicenseNotAccepted: A lock takes libraries out of archives with a license, which is not accepted.
        NoUsableBase: No base of an environment is available.
    """
    return requests_for(
        session, _locks(session, targets, selection, sources, offline=offline), selection.tags, offline=offline
    )


def requests_for(
    session: Session, locks: Sequence[tuple[Lock, Sources]], tags: tuple[str, ...], *, offline: bool
) -> tuple[ImageRequest, ...]:
    """Return the requests for locks, in their order; named interpreter archives are added to the cache.

    `tags` may contain `{name}`; none means the default names.

    Raises:
        UsageError: Two images would have the same name.
        LicenseNotAccepted: A lock takes libraries out of archives with a license, which is not accepted.
    """
    refuse_shared_names([lock.name or lock.environment for lock, _ in locks], tags)
    return tuple(
        image_request(session, lock, merged, _names(lock, tags) or default_names(lock), offline=offline)
        for lock, merged in locks
    )


def image_request(
    session: Session, lock: Lock, sources: Sources, names: tuple[str, ...], *, offline: bool
) -> ImageRequest:
    """Return the request for one lock; its interpreter archives are added to the cache.

    Raises:
        LicenseNotAccepted: It takes libraries out of archives with a license, which is not accepted.
    """
    refuse_licenses(session, lock, sources)
    add_files(session, lock, sources, offline=offline)
    return ImageRequest(lock=lock, sources=sources, names=names)


def _names(lock: Lock, tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag.replace(NAME, image_name(lock.name or lock.environment)) for tag in tags)


def target_names(catalog: Catalog, targets: tuple[str, ...]) -> tuple[str | None, ...]:
    """Return environments and locks that a command line names, without repetition, with globs expanded.

    None stands for the lock in this directory, if there is no target.

    Raises:
        UnknownEnvironment: No environment matches a glob.
    """
    names: list[str | None] = []
    for target in targets or (None,):
        is_glob = target is not None and set(target) & set("*?[") and not Path(target).exists()
        names += [row.id for row in matching(catalog, target)] if is_glob and target else [target]
    return tuple(dict.fromkeys(names))


def _locks(
    session: Session, targets: tuple[str, ...], selection: Selection, sources: Sources, *, offline: bool
) -> list[tuple[Lock, Sources]]:
    if selection.bundle:
        if targets:
            raise UsageError(
                "--bundle cannot be combined with ENV or LOCK: a bundle contains its lock", hint="omit ENV or LOCK"
            )
        return [(opened_bundle(session, selection.bundle, sources, selection.key, offline=offline), sources)]
    return [
        obtain_lock(session, name, sources, base=selection.base, tensorflow=selection.tensorflow)
        for name in target_names(session.catalog, targets)
    ]


def refuse_shared_names(names: Sequence[str], tags: tuple[str, ...]) -> None:
    """Raise UsageError if several images would have the same name.

    `names` are those of the images without `--tag`.

    Raises:
        UsageError: A tag without a placeholder is for several images; or two images have the same name.
    """
    if len(names) > 1 and any(NAME not in tag for tag in tags):
        raise UsageError(
            "several images cannot have the same name", hint=f"use {NAME} in --tag, omit --tag, or build one at a time"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"several images would have the name {twice[0]}", hint="give each spec a `name:`, or build one at a time"
        )


_UNSIGNED = "not checked for a signature (--key FILE): its lock and files are trusted as they are"


def opened_bundle(session: Session, path: Path, sources: Sources, key: Path | None, *, offline: bool) -> Lock:
    """Add the files of a bundle to the store; return its lock.

    One of the public keys in the file `key` must have signed it; None requires no signature.

    Raises:
        VerificationFailed: It is damaged, or not signed by one of the keys.
    """
    signer = ""

    def check(stream: BinaryIO) -> None:
        nonlocal signer
        if key is not None:
            signer = verify(stream, path, key, environ=session.settings.environ)

    session.progress(f"taking the files of {path} into the store")
    lock = open_bundle(path, session.store, check)
    signature = f"signed by {signer}" if signer else _UNSIGNED
    report_lock_trust(session, lock, sources, bundle=signature, offline=offline)
    return lock
