"""The key of a layer: a digest of everything that decides its content, known without fetching anything.

Layers with the same key are equal in every image, on every machine. The version changes when the same pins would give
other bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.image_layout import VENV
from envbuilder.image.plan.layers import WORTH_COMPILING
from envbuilder.image.plan.plan import WHEELS, Layer, LayerKind, Plan
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin
from envbuilder.oci.images import LayerFormat

VERSION = 1

_BYTECODE = {"bytecode": 2}
"""Version of the bytecode that the same source and interpreter give: since 2, whatever was compiled before."""


_FORMATS = {LayerFormat.ESTARGZ: {"estargz": 2}}
"""Version of a format: since 2, layers of bytecode are prefetched, and large files are cut between deflate blocks."""


def layer_key(plan: Plan, layer: Layer, layer_format: LayerFormat, *, image_inputs: Iterable[str] = ()) -> str:
    """Return the key of one layer.

    `image_inputs` are the digests of the content of the last layer: lock and probe.
    """
    inputs: dict[str, object] = {"version": VERSION, "format": layer_format.value, "kind": layer.kind.value}
    inputs |= _FORMATS.get(layer_format, {})
    if layer_format is LayerFormat.ESTARGZ and (first := dict(plan.lock.prioritized_files).get(layer.id)):
        inputs["prioritized"] = list(first)
    if layer.kind is LayerKind.IMAGE:
        inputs["holds"] = sorted(image_inputs)
    else:
        inputs |= _INPUTS[layer.kind](plan, layer)
    return inputs_digest(inputs)


def python_key(lock: Lock) -> str:
    """Return a digest of everything that decides the interpreter of an image, and the base that it runs on."""
    return inputs_digest({"version": VERSION, "python": lock.python.sha256} | _os(lock))


def _base(plan: Plan, _layer: Layer) -> dict[str, object]:
    return {"base": plan.lock.base.digest}


def _system(plan: Plan, _layer: Layer) -> dict[str, object]:
    # Without its own `allow:` another lock must not get the layer from the cache; the digest of the base has its own.
    allowed = sorted(plan.lock.allowed_privileged)
    return _os(plan.lock) | ({"privileged": allowed} if allowed else {})


def _interpreter(plan: Plan, _layer: Layer) -> dict[str, object]:
    lock = plan.lock
    python = [lock.python.version.text, lock.python.provider.value, lock.python.sha256]
    return _os(lock) | _BYTECODE | {"python": python, "user": [lock.user.name, lock.user.uid, lock.user.gid]}


def _libraries(_plan: Plan, layer: Layer) -> dict[str, object]:
    return {
        "archives": [
            {
                "sha256": pin.sha256,
                "inner": pin.inner,
                "libraries": [[library.soname, library.path] for library in pin.libraries],
                "eula": [pin.id, pin.eula],
            }
            for pin in layer.archives
        ]
    }


def _wheels(plan: Plan, layer: Layer) -> dict[str, object]:
    return {"series": plan.lock.python.version.series, "files": _files(layer.packages)} | _tools(plan, layer.packages)


def _links(plan: Plan, layer: Layer) -> dict[str, object]:
    return {
        "series": plan.lock.python.version.series,
        "files": _files(plan.lock.group(PackageGroup.CUDA)),
        "links": [[each.name, each.target] for each in layer.links],
    }


def _bytecode(plan: Plan, layer: Layer) -> dict[str, object]:
    return _compiler(plan.lock) | _BYTECODE | {"files": _files(layer.compiled)} | _tools(plan, layer.compiled)


def _profile(plan: Plan, layer: Layer) -> dict[str, object]:
    files = {"files": _files(layer.packages), "compiled_from": WORTH_COMPILING}
    return _compiler(plan.lock) | _BYTECODE | files | _tools(plan, layer.packages)


def _own(plan: Plan, layer: Layer) -> dict[str, object]:
    # Without its own `allow:` another lock must not get the layer from the cache.
    allow = [path for path in plan.lock.allow if path.startswith(f"/{VENV}/")]
    allowed = {"allow": allow} if allow else {}
    stage = _build_stage(plan) if layer.builds_from_source and plan.own_build_tools else {}
    return _profile(plan, layer) | stage | allowed


def _own_files(plan: Plan, layer: Layer) -> dict[str, object]:
    """Return the inputs of own files: directories above them keep the properties of the base and the user."""
    user = plan.lock.user
    files = [[each.path, each.sha256, each.executable] for each in layer.files]
    made = {"folder": layer.folder} if layer.folder else {}
    return _os(plan.lock) | {"files": files, "user": [user.name, user.uid, user.gid]} | made


_INPUTS: dict[LayerKind, Callable[[Plan, Layer], dict[str, object]]] = {
    LayerKind.BASE: _base,
    LayerKind.SYSTEM: _system,
    LayerKind.INTERPRETER: _interpreter,
    LayerKind.LIBRARIES: _libraries,
    **dict.fromkeys(WHEELS, _wheels),
    LayerKind.LINKS: _links,
    LayerKind.BYTECODE: _bytecode,
    LayerKind.PROFILE: _profile,
    LayerKind.OWN: _own,
    LayerKind.FILES: _own_files,
}


def _files(pins: Iterable[PackagePin]) -> list[list[str]]:
    return [[pin.file, pin.sha256] for pin in sorted(pins, key=lambda pin: (pin.name, pin.file))]


def _os(lock: Lock) -> dict[str, object]:
    return {"base": lock.base.digest, "packages": [[pin.name, pin.version, pin.sha256] for pin in lock.os_packages]}


def _compiler(lock: Lock) -> dict[str, object]:
    """Return the inputs of the bytecode: the archive, or the base that contains the interpreter."""
    series: dict[str, object] = {"series": lock.python.version.series}
    if lock.python.provider is PythonProvider.ARCHIVE:
        return series | {"python": lock.python.sha256}
    return series | _os(lock)


def _build_stage(plan: Plan) -> dict[str, object]:
    """Return the inputs of builds of own packages: everything below them in the image, and the build stage."""
    stage = _compiler(plan.lock.build_stage) | _os(plan.lock.build_stage)
    environment = _files(plan.lock.below_own)
    variables = {"env": [list(each) for each in plan.lock.build_env]} if plan.lock.build_env else {}
    return {"tools": _files(plan.own_build_tools), "builder": stage, "environment": environment, **variables}


def _tools(plan: Plan, pins: Iterable[PackagePin]) -> dict[str, object]:
    """Return the build tools of source distributions, if there are any."""
    if all(pin.is_wheel for pin in pins):
        return {}
    return {"tools": _files(plan.build_tools), "builder": _compiler(plan.lock)}
