"""Conversion of a lock to a plan: the only place that decides what a layer is.

Rarely changed layers are lowest: a change of one own package affects the last layer only.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import accumulate

from envbuilder.catalog.archives import ArchivePin
from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.core.image_layout import VENV, WORKSPACE, home
from envbuilder.core.memory_policy import GROWTH, HOOK, VARIABLE
from envbuilder.core.references import ImageRef
from envbuilder.image.plan.plan import WHEELS, Layer, LayerKind, Plan
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin

LABEL_BASE = "io.envbuilder.base"
LABEL_ENVIRONMENT = "io.envbuilder.environment"
LABEL_LOCK = "io.envbuilder.lock"
LABEL_MEMORY = "io.envbuilder.memory"
LABEL_SOURCES = "io.envbuilder.sources"

REQUIREMENT = "NVIDIA_REQUIRE_ENVBUILDER"
"""Variable of NVIDIA's container runtime with the nodes that may start an image; cluster manifests set the same one."""

HEAVY = 4 << 20
"""Size from which a distribution has a layer of its own, so that a change of another one does not affect it."""

VERY_LARGE = 16 << 20
"""Size from which the bytecode of a distribution has a layer of its own too. Each such layer takes another start of the
interpreter, and wheels between 4 and 16 MiB have little bytecode: 0 to 0.9 MiB (TensorFlow 2.15, 2026-11-22)."""

WORTH_COMPILING = 256 << 10
"""Bytes of Python sources from which an own layer contains bytecode. Compiling less takes 0.04 s at most, where all of
it is imported (0.15 s for 1 MiB, Python 3.11, 2026-11-23); and a change of a small package needs no interpreter."""

MOST_LAYERS = 64
"""Half of the maximum of engines (Docker 20.10: 125, measured), so that users can build on top."""

_OTHER_KINDS = len(LayerKind) - 1
"""Kinds of which an image has at least one layer, or none; `libraries` has one for each archive."""

_DIGEST_SHOWN = 12
_GROUP_OF = {
    LayerKind.CUDA: PackageGroup.CUDA,
    LayerKind.FRAMEWORK: PackageGroup.FRAMEWORK,
    LayerKind.PACKAGES: PackageGroup.PACKAGES,
    LayerKind.PROFILE: PackageGroup.PROFILE,
    LayerKind.OWN: PackageGroup.OWN,
}


def base_reference(kind: BaseKind, system: str, image: str, digest: str) -> ImageRef:
    """Return the reference of a base in the engine: the registry's own name, or our tag for a tree made locally.

    A base that is not pinned keeps the registry's tag, or gets one that no tree has.

    Source: a locally made image has no manifest digest, so its tag carries the digest of its content.
    """
    if kind is BaseKind.IMAGE:
        reference = ImageRef.parse(image)
        return ImageRef(repository=reference.repository, digest=digest) if digest else reference
    tag = f"{system}-{digest.removeprefix('sha256:')[:_DIGEST_SHOWN] or 'unpinned'}"
    return ImageRef(repository="envbuilder/base", tag=tag)


def image_reference(lock: Lock) -> ImageRef:
    """Return the reference of the image below the first Python layer.

    OS packages that are pinned by file are unpacked by envbuilder, so they are part of this image.
    """
    base = base_reference(lock.base.kind, lock.base.id, lock.base.image, lock.base.digest)
    if not lock.unpacks_os_packages:
        return base
    packages = [f"{pin.name} {pin.version} {pin.sha256}" for pin in lock.os_packages]
    text = "\n".join([*packages, *sorted(lock.allowed_privileged)])
    added = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_SHOWN]
    return ImageRef(repository=base.repository, tag=f"{base.tag}-{added}")


def plan(lock: Lock, digest: str, *, below: int = 1) -> Plan:
    """Return the plan of a lock.

    The label of the image names the digest; the base has `below` layers.

    Returns:
        Shape: every package pin of the lock is in exactly one layer, in `build_tools` or in `own_build_tools`; layers
        that would be empty are left out. At most `MOST_LAYERS` with those of the base, as long as it leaves room for
        the other kinds.
    """
    heavy = _heavy(lock, MOST_LAYERS - below - _OTHER_KINDS - len(lock.archives))
    shared = (PackageGroup.CUDA, PackageGroup.FRAMEWORK, PackageGroup.PACKAGES)
    small = sorted((pin for pin in lock.packages if pin.group in shared and pin not in heavy), key=lambda pin: pin.name)
    candidates = (
        Layer(kind=LayerKind.BASE, id="base", title=f"{lock.base.id}"),
        Layer(kind=LayerKind.SYSTEM, id="system", title="OS packages", os_packages=lock.os_packages),
        Layer(kind=LayerKind.INTERPRETER, id="interpreter", title=_interpreter_title(lock)),
        *map(_of_archive, lock.archives),
        *_alone(lock, LayerKind.CUDA, heavy),
        *_alone(lock, LayerKind.FRAMEWORK, heavy),
        *_alone(lock, LayerKind.PACKAGES, heavy),
        Layer(
            kind=LayerKind.PACKAGES,
            id="packages",
            title="what TensorFlow needs, each below 4 MiB",
            packages=tuple(small),
        ),
        Layer(
            kind=LayerKind.LINKS,
            id="links",
            title="CUDA libraries where the loader looks",
            links=lock.cuda.links if lock.cuda else (),
        ),
        *_bytecode(lock, heavy, tuple(small)),
        *_added(lock, LayerKind.PROFILE, heavy, f"tools of {' and '.join(lock.profiles)}"),
        *_added(lock, LayerKind.OWN, heavy, "own packages"),
        Layer(
            kind=LayerKind.FILES,
            id="files",
            title="own files" if lock.files else "the working directory",
            files=lock.files,
            folder=_made_folder(lock),
        ),
        Layer(kind=LayerKind.IMAGE, id="image", title="the lock and the probe"),
    )
    return Plan(
        lock=lock,
        base=str(image_reference(lock)),
        layers=tuple(layer for layer in candidates if _is_needed(layer, lock)),
        build_tools=lock.group(PackageGroup.BUILD),
        own_build_tools=lock.group(PackageGroup.OWN_BUILD),
        build_base=str(image_reference(lock.build_stage)),
        env=_env(lock),
        labels=_labels(lock, digest),
        settings=_settings(lock),
    )


def _heavy(lock: Lock, room: int) -> frozenset[PackagePin]:
    """Return the largest distributions up to the limit of layers; TensorFlow is always one of them."""
    framework = lock.group(PackageGroup.FRAMEWORK)
    others = (pin for pin in lock.packages if pin.group.is_installed and pin.group is not PackageGroup.FRAMEWORK)
    large = sorted((pin for pin in others if pin.size >= HEAVY), key=lambda pin: (-pin.size, pin.name))
    ends = accumulate(_layers_of(pin) for pin in (*framework, *large))
    return frozenset((*framework, *(pin for pin, end in zip((*framework, *large), ends, strict=True) if end <= room)))


def _layers_of(pin: PackagePin) -> int:
    """Return the number of layers that a large distribution has for itself."""
    return 2 if _compiled_alone(pin) else 1


def _compiled_alone(pin: PackagePin) -> bool:
    return pin.group is PackageGroup.FRAMEWORK or (pin.group is PackageGroup.PACKAGES and pin.size >= VERY_LARGE)


def _bytecode(lock: Lock, heavy: frozenset[PackagePin], small: tuple[PackagePin, ...]) -> tuple[Layer, ...]:
    """Return the layers of bytecode, in the order of the layers that hold the sources.

    So a later distribution with the same file replaces its bytecode too. CUDA libraries, which have hardly any Python,
    are with the last ones; their files are below `nvidia/`.
    """
    kind = LayerKind.BYTECODE
    pins = [pin for group in WHEELS for layer in _alone(lock, group, heavy) for pin in layer.packages]
    rest = (*(pin for pin in pins if not _compiled_alone(pin)), *small)
    return (
        *(
            Layer(kind=kind, id=f"{kind}.{pin.name}", title=f"bytecode of {pin.name} {pin.version}", compiled=(pin,))
            for pin in pins
            if _compiled_alone(pin)
        ),
        Layer(kind=kind, id=kind.value, title="bytecode of what TensorFlow needs", compiled=rest),
    )


def _alone(lock: Lock, kind: LayerKind, heavy: frozenset[PackagePin]) -> tuple[Layer, ...]:
    """Return one layer for each large distribution of a group.

    They are in the order of their bytecode: those with a layer of bytecode first, each by name, so that the order
    ignores versions.
    """
    pins = (pin for pin in lock.group(_GROUP_OF[kind]) if pin in heavy)
    return tuple(
        Layer(kind=kind, id=f"{kind.value}.{pin.name}", title=f"{pin.name} {pin.version}", packages=(pin,))
        for pin in sorted(pins, key=lambda pin: (not _compiled_alone(pin), pin.name))
    )


def _added(lock: Lock, kind: LayerKind, heavy: frozenset[PackagePin], title: str) -> tuple[Layer, ...]:
    """Return the layers of a group above the environment: its large distributions, then the small ones together."""
    small = tuple(pin for pin in lock.group(_GROUP_OF[kind]) if pin not in heavy)
    return (*_alone(lock, kind, heavy), Layer(kind=kind, id=kind.value, title=title, packages=small))


def _of_archive(pin: ArchivePin) -> Layer:
    """Return the layer of a vendor archive; archives are in the order of the lock."""
    kind = LayerKind.LIBRARIES
    return Layer(kind=kind, id=f"{kind.value}.{pin.id}", title=f"libraries of {pin.id}", archives=(pin,))


def _is_needed(layer: Layer, lock: Lock) -> bool:
    match layer.kind:
        case LayerKind.LINKS:
            return bool(lock.group(PackageGroup.CUDA))
        case LayerKind.BYTECODE:
            return bool(layer.compiled)
        case LayerKind.SYSTEM:
            return bool(layer.os_packages)
        case LayerKind.FILES:
            return bool(layer.files or layer.folder)
        case LayerKind.PACKAGES | LayerKind.PROFILE | LayerKind.OWN:
            return bool(layer.packages)
        case _:
            return True


def _interpreter_title(lock: Lock) -> str:
    where = "from the OS" if lock.python.provider is PythonProvider.OS else "from an archive"
    return f"Python {lock.python.version} {where}, virtual environment, account {lock.user.name}"


def _env(lock: Lock) -> tuple[tuple[str, str], ...]:
    env = {
        "LANG": "C.UTF-8",
        "PATH": f"/{VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "VIRTUAL_ENV": f"/{VENV}",
    }
    if lock.cuda is not None:
        env |= {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}
        env |= {REQUIREMENT: lock.cuda.require} if lock.cuda.require else {}
    if lock.tool(HOOK) and not lock.memory.is_default:
        env[VARIABLE] = str(lock.memory)
    elif lock.memory == GROWTH:
        # A lock from before there was a hook.
        env["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    return tuple(sorted({**env, **dict(lock.env)}.items()))


def _made_folder(lock: Lock) -> str:
    """Return the working directory that a layer has to make; empty for one that every image of the user has."""
    workdir = lock.settings.workdir
    return "" if workdir in {f"/{WORKSPACE}", f"/{home(lock.user.name)}"} else workdir


def _settings(lock: Lock) -> ContainerSettings:
    """Return the settings of containers with the defaults of this image.

    As in a Dockerfile, an own entry point removes the default command, which would be its argument.
    """
    own = lock.settings
    return replace(
        own,
        command=own.command if own.command is not None else () if own.entrypoint else ("python",),
        workdir=own.workdir or f"/{WORKSPACE}",
    )


def _labels(lock: Lock, digest: str) -> tuple[tuple[str, str], ...]:
    labels = {
        LABEL_BASE: lock.base.id,
        LABEL_ENVIRONMENT: lock.environment,
        LABEL_LOCK: digest,
        LABEL_MEMORY: str(lock.memory),
        LABEL_SOURCES: "; ".join(lock.sources),
        "org.opencontainers.image.description": lock.summary,
        "org.opencontainers.image.title": lock.environment,
        "org.opencontainers.image.version": lock.framework_version,
    }
    if lock.base.kind is BaseKind.IMAGE:
        # The OCI annotations are for images in a registry: a manifest digest and a full reference, which a tree lacks.
        # Source: https://github.com/opencontainers/image-spec/blob/main/annotations.md
        labels["org.opencontainers.image.base.name"] = str(ImageRef.parse(lock.base.image).with_registry())
        if lock.base.digest:
            labels["org.opencontainers.image.base.digest"] = lock.base.digest
    return tuple(sorted({**labels, **dict(lock.settings.labels)}.items()))
