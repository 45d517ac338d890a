"""Bundles on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from envbuilder.image.attestation.signatures import verify
from envbuilder.image.bundle import open_bundle
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.trust import tell_lock

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
    said = f"signed by {signer}" if signer else _UNSIGNED
    tell_lock(session, lock, sources, bundle=said, offline=offline)
    return lock
