"""Images of commands that take them from a path, the store, the engine or a registry."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from envbuilder.core.errors import EngineUnavailable, UsageError
from envbuilder.core.files import CHUNK
from envbuilder.core.references import ImageRef
from envbuilder.diagnostics.verify import Subject
from envbuilder.image.builder import Engine
from envbuilder.oci.layout.stored_images import read_layout
from envbuilder.oci.registry.pull import fetch_blobs, find
from envbuilder.wiring.engines import path_or_reference
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import registry_client


def subject_of(session: Session, image: str, name: str, engine: Engine) -> Subject:
    """Return the image that a command line names.

    It is a path, a name in the store or the engine, has the host of a registry, or is the lock that it was built from;
    `name` names one of several in a layout.

    Raises:
        UsageError: There is none.
    """
    image = path_or_reference(session, image, engine)
    if Path(image).exists():
        return _of_path(Path(image), name)
    kept = session.records.image(image)
    if kept is not None and engine is not Engine.DOCKER:
        return _of_store(session, image)
    held = _of_engine(session, image) if engine is not Engine.ASSEMBLE else None
    if held is not None:
        return held
    host = image.partition("/")[0]
    if "/" in image and ("." in host or ":" in host or host == "localhost"):
        return subject_in_registry(session, image)
    raise UsageError(
        f"not a path, an assembled image or an image of the engine: {image}",
        hint="`envbuilder cache list` lists assembled images",
    )


def _of_path(path: Path, name: str) -> Subject:
    stored = read_layout(path, name)

    def fetch(number: int, target: Path) -> None:
        with stored.open(stored.layers[number]) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)

    return Subject(
        name=str(path),
        manifest=stored.manifest.descriptor.digest if stored.manifest else "",
        config=stored.config.descriptor.digest,
        layers=stored.layers if stored.manifest else (),
        diff_ids=stored.diff_ids,
        fetch=fetch,
        document=stored.config.content,
    )


def _of_store(session: Session, name: str) -> Subject:
    kept = session.records.image(name)
    if kept is None:
        raise UsageError(f"image not found: {name}")
    image = kept.image
    layers = tuple(layer.blob for layer in image.layers)
    for blob in layers:
        session.store.verified(blob.digest)

    def fetch(number: int, target: Path) -> None:
        shutil.copyfile(session.store.path(layers[number].digest), target)

    return Subject(
        name=name,
        manifest=image.manifest.descriptor.digest,
        config=image.config.descriptor.digest,
        layers=layers,
        diff_ids=tuple(layer.diff_id for layer in image.layers),
        fetch=fetch,
        document=image.config.content,
    )


def _of_engine(session: Session, name: str) -> Subject | None:
    try:
        found = session.engine.image(name)
    except EngineUnavailable:
        return None
    if found is None:
        return None
    # An engine with the containerd store names images by their manifest, others by their configuration.
    return Subject(name=name, manifest="", config=found.id, layers=(), diff_ids=found.diff_ids)


def subject_in_registry(session: Session, name: str) -> Subject:
    """Return an image of a registry, whatever the store or the engine has under its name.

    Raises:
        UsageError: It is not a reference with the host of a registry.
        SourceUnreachable: The registry does not respond, or has no such image.
    """
    try:
        reference = ImageRef.parse(name)
    except ValueError as error:
        raise UsageError(str(error), hint="use a name such as `HOST/NAME:TAG`") from None
    with registry_client(session.settings)() as client:
        found = find(client, reference)

    def fetch(number: int, target: Path) -> None:
        blob = found.layers[number]
        with registry_client(session.settings)() as again:
            fetch_blobs(again, reference, (blob,), session.store)
        shutil.copyfile(session.store.path(blob.digest), target)

    return Subject(
        name=name,
        manifest=found.manifest.descriptor.digest,
        config=found.config.descriptor.digest,
        layers=found.layers,
        diff_ids=found.diff_ids,
        fetch=fetch,
        document=found.config.content,
    )


def readable_subject(session: Session, image: str, engine: Engine, work: Path) -> Subject:
    """Return the same as `subject_of`; an image of the engine is written to a file in `work`, for reading."""
    subject = subject_of(session, image, "", engine)
    if subject.fetch is not None:
        return subject
    session.progress(f"reading {image} out of the engine")
    archive = work / "image.tar"
    session.engine.save(image, archive)
    return replace(_of_path(archive, ""), name=image)
