"""Validation of an image without running it: the static tier."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import open_elf, read_shared_object
from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.checks.content import run_content_checks
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.verify import Subject
from envbuilder.image.contents import ContentExpectation, ImageContent, LibraryFile
from envbuilder.image.embedded_lock import LOCK_IN_IMAGE, lock_in
from envbuilder.image.layer_contents import config_of, survey
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump_pins


def validate_static(
    subject: Subject, lock: Lock | None, work: Path, clock: Callable[[], float], *, required: Tier | None = None
) -> Report:
    """Inspect the layers of an image and check their content; without a lock, by the lock inside the image.

    `work` is a directory for layers while they are read.

    Raises:
        UsageError: The image contains no lock and none was given; or its layers are unavailable.
        VerificationFailed: A layer is damaged.
    """
    started = clock()
    content = _content(subject, work)
    expected = lock or lock_in(content.texts.get(LOCK_IN_IMAGE.lstrip("/")), subject.name)
    planned = plan(expected, digest(expected))
    expectation = ContentExpectation(
        lock=expected,
        lock_text=dump_pins(expected).encode(),
        labels=planned.labels,
        env=planned.env,
        lock_is_inside=lock is None,
    )
    return run_content_checks(expectation, content, subject=subject.name, seconds=clock() - started, required=required)


def _content(subject: Subject, work: Path) -> ImageContent:
    fetch = subject.fetch
    if fetch is None:
        raise UsageError(
            f"the layers of {subject.name} cannot be read in place", hint="write it to a file with `docker save`"
        )
    with tempfile.TemporaryDirectory(dir=work, prefix="static-") as directory:
        return survey(
            [partial(fetch, number) for number in range(len(subject.diff_ids))],
            config_of(subject.document),
            subject.manifest,
            _read_library,
            Path(directory),
        )


def _read_library(path: str, stream: BinaryIO) -> LibraryFile:
    """Return the libraries that an ELF file requires; for a damaged one with the reason."""
    try:
        found = read_shared_object(open_elf(stream))
    except Damaged as error:
        return LibraryFile(path=path, damage=str(error))
    return LibraryFile(path=path, needed=found.needed, search=found.runpath)
