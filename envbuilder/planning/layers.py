"""From lock to plan: the one place that decides what a layer is.

What changes least lies lowest: a change of one own package touches the last layer only.
"""

from __future__ import annotations

from envbuilder.model.locks import Lock, MemoryPolicy, PackageGroup
from envbuilder.model.plans import Layer, LayerKind, Plan
from envbuilder.model.refs import ImageRef
from envbuilder.model.rows import BaseKind, PythonProvider

LABEL_ENVIRONMENT = "io.envbuilder.environment"
LABEL_LOCK = "io.envbuilder.lock"
LABEL_MEMORY = "io.envbuilder.memory"
LABEL_SOURCES = "io.envbuilder.sources"

_DIGEST_SHOWN = 12


def base_reference(kind: BaseKind, system: str, image: str, digest: str) -> ImageRef:
    """Where the engine finds a base: the registry's own name, or our tag for a tree that was made here.

    Source: a locally made image has no manifest digest, so its tag carries the digest of its content.
    """
    if kind is BaseKind.IMAGE:
        reference = ImageRef.parse(image)
        return ImageRef(repository=reference.repository, digest=digest)
    tag = f"{system}-{digest.removeprefix('sha256:')[:_DIGEST_SHOWN]}"
    return ImageRef(repository="envbuilder/base", tag=tag)


def plan(lock: Lock, digest: str) -> Plan:
    """Order a lock into layers.

    Args:
        lock: All pins.
        digest: Digest of the lock, for the label.

    Returns:
        Shape: every package pin of the lock is in exactly one layer, or in `build_tools`; empty layers are left out,
        except `interpreter` and `own`, which every image has.
    """
    candidates = (
        Layer(
            kind=LayerKind.SYSTEM,
            title="OS packages",
            os_packages=lock.os_packages,
        ),
        Layer(kind=LayerKind.INTERPRETER, title=_interpreter_title(lock)),
        Layer(
            kind=LayerKind.CUDA,
            title=f"CUDA {lock.cuda.cuda} and cuDNN {lock.cuda.cudnn}" if lock.cuda else "",
            packages=lock.group(PackageGroup.CUDA),
            links=lock.cuda.links if lock.cuda else (),
        ),
        Layer(
            kind=LayerKind.FRAMEWORK,
            title=f"TensorFlow {lock.framework_version}",
            packages=lock.group(PackageGroup.FRAMEWORK),
        ),
        Layer(
            kind=LayerKind.PACKAGES,
            title="what TensorFlow needs",
            packages=lock.group(PackageGroup.PACKAGES),
        ),
        Layer(kind=LayerKind.OWN, title=_own_title(lock), packages=lock.group(PackageGroup.OWN)),
    )
    return Plan(
        lock=lock,
        base=str(base_reference(lock.base.kind, lock.base.id, lock.base.image, lock.base.digest)),
        layers=tuple(layer for layer in candidates if _is_needed(layer)),
        build_tools=lock.group(PackageGroup.BUILD),
        env=_env(lock),
        labels=_labels(lock, digest),
    )


def _is_needed(layer: Layer) -> bool:
    always = layer.kind in {LayerKind.INTERPRETER, LayerKind.OWN}
    return always or bool(layer.packages or layer.os_packages or layer.links)


def _interpreter_title(lock: Lock) -> str:
    where = "from the OS" if lock.python.provider is PythonProvider.OS else "from an archive"
    return f"Python {lock.python.version} {where}, virtual environment, account {lock.user.name}"


def _own_title(lock: Lock) -> str:
    return "own packages, and the lock" if lock.group(PackageGroup.OWN) else "the lock"


def _env(lock: Lock) -> tuple[tuple[str, str], ...]:
    env = {
        "LANG": "C.UTF-8",
        "PATH": "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "VIRTUAL_ENV": "/opt/venv",
    }
    if lock.cuda is not None:
        env |= {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}
    match lock.memory:
        case MemoryPolicy.GROWTH:
            env["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        case MemoryPolicy.ALL:
            pass
    return tuple(sorted({**env, **dict(lock.env)}.items()))


def _labels(lock: Lock, digest: str) -> tuple[tuple[str, str], ...]:
    labels = {
        LABEL_ENVIRONMENT: lock.environment,
        LABEL_LOCK: digest,
        LABEL_MEMORY: lock.memory.value,
        LABEL_SOURCES: "; ".join(lock.sources),
        "org.opencontainers.image.base.digest": lock.base.digest,
        "org.opencontainers.image.base.name": lock.base.image or lock.base.id,
        "org.opencontainers.image.description": lock.summary,
        "org.opencontainers.image.title": lock.environment,
        "org.opencontainers.image.version": lock.framework_version,
    }
    return tuple(sorted(labels.items()))
