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
        text: Content.
        executable: True if the build runs it.
    """

    path: str
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
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
    attachments: tuple[Attachment, ...]


def render(plan: Plan, lock_text: str, templates: Path) -> Rendered:
    """Render a plan as a Dockerfile; the same plan gives the same bytes.

    Args:
        plan: The layers.
        lock_text: Canonical text of the lock, which is copied into the image.
        templates: Directory of the Jinja templates.

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
    }
    texts = [
        TextFile(path="Dockerfile", text=jinja.get_template("Dockerfile.j2").render(values)),
        TextFile(path="tools/with-host", text=jinja.get_template("with-host.j2").render(values), executable=True),
        TextFile(path="host/README", text=jinja.get_template("host-README.j2").render(values)),
        TextFile(path="envbuilder.lock", text=lock_text),
        *_layer_files(plan),
    ]
    if plan.layer(LayerKind.SYSTEM) is None or plan.lock.unpacks_os_packages:
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
    for layer in plan.layers:
        if layer.packages:
            yield TextFile(path=f"layers/{layer.id}.txt", text=requirements(layer.packages))
        if layer.os_packages and not plan.lock.unpacks_os_packages:
            lines = (f"{pin.sha256} {_exactly(pin)}\n" for pin in layer.os_packages)
            yield TextFile(path=f"layers/{layer.id}.txt", text="".join(lines))
    if plan.lock.files:
        lines = (f"{0o755 if file.executable else 0o644:04o} {file.path}\n" for file in plan.lock.files)
        yield TextFile(path="layers/files.txt", text="".join(lines))
    for name, kinds in _DOWNLOADS.items():
        pins = [pin for layer in plan.of(*kinds) for pin in layer.packages if pin.is_wheel]
        if pins or name == "download":
            yield TextFile(path=f"layers/{name}.txt", text=requirements(pins))
    if plan.build_tools:
        yield TextFile(path="layers/build.txt", text=requirements(plan.build_tools))


def _exactly(pin: OsPackagePin) -> str:
    return f"{pin.name}={pin.version}" if pin.version else pin.name


def _attachments(plan: Plan) -> Iterator[Attachment]:
    for tool in plan.lock.tools:
        yield Attachment(path=f"tools/{ToolName(tool.name)}", sha256=tool.sha256, executable=tool.name not in _NOT_RUN)
    for file in plan.lock.files:
        yield Attachment(path=f"files{image_path(file.path)}", sha256=file.sha256, executable=file.executable)
    if plan.lock.python.sha256:
        yield Attachment(path=f"python/{file_name(plan.lock.python.file)}", sha256=plan.lock.python.sha256)
