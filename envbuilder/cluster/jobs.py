"""Jobs that run the image of a lock on a cluster, and the files that every scheduler needs for them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from envbuilder.catalog.node_requirements import NodeRequirements, describe, document
from envbuilder.core.canonical_json import indented_json
from envbuilder.core.digests import digest_of_file
from envbuilder.core.errors import UsageError
from envbuilder.core.files import write_text
from envbuilder.core.references import ImageRef
from envbuilder.diagnostics.probe.script import worker_source
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.lock.lock import Lock

NODE_CHECK = "node-check.py"
WORKER_CHECK = "worker-check.py"
REQUIREMENTS = "requirements.json"
_WIDTH = 110
_LONGEST_NAME = 40
"""Names of workers and services append to it, within the 63 characters of a DNS label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryImage:
    """An image in a registry.

    Attributes:
        reference: With a digest and the host of a registry.
    """

    reference: ImageRef

    @property
    def identity(self) -> str:
        """Sha256 of the manifest."""
        return self.reference.digest.removeprefix("sha256:")


class ImageFormat(StrEnum):
    """Image file that Apptainer and enroot start, by its suffix."""

    SQUASHFS = "sqsh"
    SIF = "sif"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImage:
    """An image file on a file system that the nodes share.

    Attributes:
        path: Absolute path, the same on every node.
    """

    path: Path
    sha256: str
    format: ImageFormat

    @property
    def identity(self) -> str:
        """Sha256 of the file."""
        return self.sha256


JobImage = RegistryImage | FileImage


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """A job on a cluster.

    Attributes:
        lock_digest: Identity of the lock; empty if it does not pin everything.
        gpus: GPUs of each worker; 0 for a CPU environment.
        workers: Number of workers, each on a node of its own.
    """

    lock: Lock
    lock_digest: str
    image: JobImage
    requirements: NodeRequirements
    gpus: int
    workers: int

    @property
    def source(self) -> str:
        """What the files follow from, in words."""
        return f"the lock {self.lock_digest}" if self.lock_digest else f"the environment {self.lock.environment}"

    @property
    def name(self) -> str:
        """Name of the job: a DNS label that starts with a letter."""
        words = re.sub(r"[^a-z0-9]+", "-", (self.lock.name or self.lock.environment).lower()).strip("-")
        return (words if words[:1].isalpha() else f"job-{words}")[:_LONGEST_NAME].rstrip("-")


def header_lines(requirements: NodeRequirements) -> tuple[str, ...]:
    """Return the nodes in words, as lines of a comment."""
    return tuple(textwrap.wrap(describe(requirements), _WIDTH))


def job_image(text: str) -> JobImage:
    """Return the image of a command line: `REGISTRY/NAME@sha256:…`, or the path of a `.sqsh` or `.sif` file.

    Raises:
        UsageError: There is no such file, or the reference names no registry or no digest.
    """
    suffix = Path(text).suffix.removeprefix(".")
    if suffix in set(ImageFormat) or suffix == "squashfs":
        return _file_image(Path(text))
    try:
        reference = ImageRef.parse(text)
    except ValueError as error:
        raise UsageError(str(error), hint="use `REGISTRY/NAME@sha256:…`, or the path of a .sqsh or .sif file") from None
    if not reference.digest:
        raise UsageError(
            f"{text} has no digest: nodes that start later could get another image",
            hint="use REGISTRY/NAME@DIGEST; `envbuilder build ENV --push --tag REGISTRY/NAME:TAG` prints the digest",
        )
    if reference.with_registry() != reference:
        raise UsageError(
            f"{text} names no registry: nodes resolve such names differently", hint=f"use {reference.with_registry()}"
        )
    return RegistryImage(reference=ImageRef(repository=reference.repository, digest=reference.digest))


def _file_image(path: Path) -> FileImage:
    if not path.is_file():
        raise UsageError(
            f"file not found: {path}", hint="`envbuilder build ENV --engine assemble -o image.sqsh` writes one"
        )
    kind = ImageFormat.SIF if path.suffix == ".sif" else ImageFormat.SQUASHFS
    return FileImage(path=path.resolve(), sha256=digest_of_file(path).removeprefix("sha256:"), format=kind)


def check_files(job: ClusterJob) -> tuple[TextFile, ...]:
    """Return the files of the checks before training: of a node with its requirements, and of several workers."""
    of_nodes = (
        TextFile(path=NODE_CHECK, text=node_check_source()),
        TextFile(path=REQUIREMENTS, text=indented_json(document(job.requirements)).decode()),
    )
    return (*of_nodes, TextFile(path=WORKER_CHECK, text=worker_source().decode())) if job.workers > 1 else of_nodes


def node_check_source() -> str:
    """Return the program that checks a node; standard library only."""
    return files("envbuilder.incontainer").joinpath("node_check.py").read_text(encoding="utf-8")


def write_job_files(found: Iterable[TextFile], folder: Path, *, force: bool) -> tuple[Path, ...]:
    """Write files into a directory; return their paths, sorted.

    Raises:
        UsageError: A file exists, and `force` is false; nothing is written then.
    """
    wanted = {folder / file.path: file for file in found}
    present = sorted(str(path) for path in wanted if path.exists())
    if present and not force:
        raise UsageError(
            f"{', '.join(present)} {'exists' if len(present) == 1 else 'exist'} already",
            hint="choose another directory with -o, or overwrite with --force",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, file in wanted.items():
        write_text(path, file.text)
        path.chmod(0o755 if file.executable else 0o644)
    return tuple(sorted(wanted))
