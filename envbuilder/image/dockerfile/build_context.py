"""The files of a build: Dockerfile and everything that it needs. Pure except for reading the templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core import memory_policy as memory
from envbuilder.core.image_paths import image_path
from envbuilder.core.names import file_name
from envbuilder.image.dockerfile.templates import environment
from envbuilder.image.plan.plan import LayerKind, Plan
from envbuilder.image.vendor.placement import library_links
from envbuilder.lock.lock import OsPackagePin, PackagePin, ToolName
from envbuilder.oci.tar.members import EPOCH

_NOT_RUN = {"probe", memory.HOOK}
"""Tools that the build copies but does not run."""

_DOWNLOADS = {
    "download-cuda": (LayerKind.CUDA,),
    "download": (LayerKind.FRAMEWORK, LayerKind.PACKAGES),
}
"""Layers whose files are fetched by each of the two download stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A file that is written.

    Attributes:
        path: Relative, with `/`.
        executable: True if the build runs it.
    """

    path: str
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """A file that is copied: an interpreter archive, a tool.

    Attributes:
        path: Relative, with `/`.
        sha256: 64 hexadecimal digits.
        executable: True if the build runs it.
    """

    path: str
    sha256: str
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A directory to build.

    Attributes:
        texts: Sorted by path.
        attachments: Sorted by path.
    """

    texts: tuple[TextFile, ...]
    attachments: tuple[ContextFile, ...]


def render(plan: Plan, lock_text: str, templates: Path) -> Rendered:
    """Render a plan as a Dockerfile; the same plan gives the same bytes.

    `lock_text`, the canonical text of the lock, is copied into the image.

    Raises:
        ValueError: A value has a control character, or a name is a path.
    """
    jinja = environment(templates)
    values = {
        "plan": plan,
        "lock": plan.lock,
        "kinds": LayerKind,
        "memory": memory,
        "library_links": library_links,
        "epoch": EPOCH,
    }
    texts = [
        TextFile(path="Dockerfile", text=jinja.get_template("Dockerfile.j2").render(values)),
        TextFile(path="tools/with-host", text=jinja.get_template("with-host.j2").render(values), executable=True),
        TextFile(path="host/README", text=jinja.get_template("host-README.j2").render(values)),
        TextFile(path="envbuilder.lock", text=lock_text),
        *_layer_files(plan),
    ]
    by_apt = plan.layer(LayerKind.SYSTEM) is not None and not plan.lock.unpacks_os_packages
    if not by_apt and not plan.lock.build_os_packages:
        # The classic builder could add OS packages only with settings of the host in a layer.
        texts.append(
            TextFile(path="Dockerfile.classic", text=jinja.get_template("Dockerfile.classic.j2").render(values))
        )
    return Rendered(
        texts=tuple(sorted(texts, key=lambda file: file.path)),
        attachments=tuple(sorted(_attachments(plan), key=lambda file: file.path)),
    )


def requirements(pins: Iterable[PackagePin]) -> str:
    """Return pins as a requirements file in hash-checking mode, one exact file each."""
    return "".join(f"{pin.requirement}\n" for pin in pins)


def _layer_files(plan: Plan) -> Iterator[TextFile]:
    files = (*_package_files(plan), *_os_package_files(plan), ("files", _own_files(plan)))
    return (TextFile(path=f"layers/{name}.txt", text=text) for name, text in files if text)


def _package_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file with Python packages; some texts are empty."""
    for layer in plan.layers:
        yield layer.id, requirements(plan.taken_in(layer))
        yield f"built.{layer.id}", requirements(plan.built_in(layer))
    for name, kinds in _DOWNLOADS.items():
        yield name, requirements(pin for layer in plan.of(*kinds) for pin in layer.packages if pin.is_wheel)
    yield "build", requirements(plan.build_tools)
    yield "own-build", requirements(plan.own_build_tools)


def _os_package_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file with OS packages that apt of a registry image installs."""
    if not plan.lock.unpacks_os_packages:
        yield "system", _os_packages(plan.lock.os_packages)
    if not plan.lock.build_stage.unpacks_os_packages:
        yield "build-system", _os_packages(plan.lock.build_os_packages)


def _own_files(plan: Plan) -> str:
    return "".join(f"{0o755 if file.executable else 0o644:04o} {file.path}\n" for file in plan.lock.files)


def _os_packages(pins: Iterable[OsPackagePin]) -> str:
    return "".join(f"{pin.sha256} {_exactly(pin)}\n" for pin in pins)


def _exactly(pin: OsPackagePin) -> str:
    return f"{pin.name}={pin.version}" if pin.version else pin.name


def _attachments(plan: Plan) -> Iterator[ContextFile]:
    for tool in plan.lock.tools:
        yield ContextFile(path=f"tools/{ToolName(tool.name)}", sha256=tool.sha256, executable=tool.name not in _NOT_RUN)
    for file in plan.lock.files:
        yield ContextFile(path=f"files{image_path(file.path)}", sha256=file.sha256, executable=file.executable)
    if plan.lock.python.sha256:
        yield ContextFile(path=f"python/{file_name(plan.lock.python.file)}", sha256=plan.lock.python.sha256)
