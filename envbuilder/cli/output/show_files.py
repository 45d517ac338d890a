"""Locks and specs in the output of `show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from envbuilder.catalog.environments import Catalog
from envbuilder.cli.documents import locks as documents
from envbuilder.cli.output.printing import heading, section, table
from envbuilder.core.memory_policy import HOOK, VARIABLE
from envbuilder.core.structure import document_of, dump
from envbuilder.lock.layered_specs import Origin, SpecLayer, origins
from envbuilder.lock.lock import Lock, PackageGroup


def lock_description(path: Path, lock: Lock) -> dict[str, Any]:
    """Return the description as JSON; the pins themselves are in the lock."""
    cuda = lock.cuda
    return document_of(
        documents.ShownLock,
        lock,
        lock=path,
        tensorflow={"package": lock.framework, "version": lock.framework_version},
        cuda=cuda and document_of(documents.LockedCuda, cuda, version=cuda.cuda),
        archives=[
            document_of(documents.LockedArchive, pin, sonames=[library.soname for library in pin.libraries])
            for pin in (cuda.archives if cuda else ())
        ],
        memory={"policy": str(lock.memory), "meaning": meaning(lock)},
        packages={group.value: len(lock.group(group)) for group in PackageGroup},
        own_packages=[f"{pin.name}=={pin.version}" for pin in lock.group(PackageGroup.OWN)],
        os_packages=[f"{pin.name}={pin.version}" for pin in lock.os_packages],
        files=[file.path for file in lock.files],
        settings=dump(lock.settings),
        deviations=lock.differences,
        created=_moment(lock),
        image=lock.image and lock.image.manifest,
    )


def lock_lines(path: Path, lock: Lock) -> Iterator[str]:
    """Yield the description as lines of text."""
    yield f"{heading(str(path))}  {lock.summary}"
    for title, lines in (
        ("Image", _image_lines(lock)),
        ("GPU memory", [f"  {lock.memory}: {meaning(lock)}"]),
        ("Packages", _package_lines(lock)),
        ("Not pinned, so it cannot be built", [f"  {ingredient}" for ingredient in lock.unpinned]),
        ("Own files", [f"  {file.path}  {file.size} bytes" for file in lock.files]),
        ("Environment variables", [f"  {name}={value}" for name, value in lock.env]),
        ("Containers", [f"  {field}: {value}" for field, value in lock.settings.described()]),
        ("Deviations", [f"  {text}" for text in lock.differences]),
        ("Unavailable bases", [f"  {name}" for name in lock.refused]),
    ):
        yield from section(title, lines)


def meaning(lock: Lock) -> str:
    """Return the effect of the memory policy of a lock, in words."""
    gpus = lock.memory.gpus
    each = "; ".join(f"GPU {index}: {gpu.words}" for index, gpu in enumerate(gpus)) if len(gpus) > 1 else gpus[0].words
    if lock.tool(HOOK) is None:
        return f"{each}; fixed: the lock does not support policies at run time"
    return f"{each}; to change it at run time: {VARIABLE}, or `envbuilder run --memory`"


def _image_lines(lock: Lock) -> Iterator[str]:
    catalog = f" (catalog {lock.catalog})" if lock.catalog else ""
    yield f"  {lock.framework}=={lock.framework_version} of {lock.environment}{catalog}"
    yield f"  base {lock.base.id}: {lock.base.image or lock.base.digest}"
    yield f"  Python {lock.python.version} from {lock.python.provider.value}"
    if lock.cuda:
        cuda = lock.cuda
        yield f"  CUDA {cuda.cuda}, cuDNN {cuda.cudnn} from {cuda.provider.value}; driver {cuda.driver} or later"
        if cuda.require:
            yield f"  NVIDIA's container runtime starts it only on: {' or '.join(cuda.require.split(' '))}"
        for pin in cuda.archives:
            yield f"  {', '.join(library.soname for library in pin.libraries)} out of {pin.id} of {pin.publisher}"
    yield f"  runs as {lock.user.name} ({lock.user.uid}:{lock.user.gid}); dated {_moment(lock)}"
    if lock.image:
        yield f"  assembled: {lock.image.manifest}"


def _package_lines(lock: Lock) -> Iterator[str]:
    counts = [(group.value, len(lock.group(group))) for group in PackageGroup]
    yield "  " + ", ".join(f"{count} {name}" for name, count in counts if count)
    own = lock.group(PackageGroup.OWN)
    if own:
        yield f"  own: {', '.join(f'{pin.name}=={pin.version}' for pin in own)}"
    if lock.os_packages:
        yield f"  OS packages: {', '.join(f'{pin.name}={pin.version}' for pin in lock.os_packages)}"


def _moment(lock: Lock) -> str:
    return datetime.fromtimestamp(lock.epoch, UTC).isoformat()


def spec_document(layers: Sequence[SpecLayer], catalog: Catalog) -> dict[str, Any]:
    """Return the values as JSON.

    `layers` are the files of the spec, the most general first.
    """
    return document_of(
        documents.ShownSpec,
        None,
        spec=layers[-1].title,
        files=[layer.title for layer in layers],
        catalogs=[{"name": team.name, "commit": team.place.commit or None} for team in catalog.teams],
        values=origins(tuple(layers)),
    )


def spec_lines(layers: Sequence[SpecLayer], catalog: Catalog) -> Iterator[str]:
    """Yield the values as lines of text; arguments as for `spec_document`."""
    yield heading(layers[-1].title)
    for layer in reversed(layers[:-1]):
        yield f"  extends {layer.title}"
    for team in catalog.teams:
        yield f"  catalog {team}"
    yield ""
    yield table(("FIELD", "VALUE", "FROM"), [_row(each) for each in origins(tuple(layers))])


def _row(origin: Origin) -> tuple[str, str, str]:
    return origin.field, str(origin.value), f"{origin.file}:{origin.line}"
