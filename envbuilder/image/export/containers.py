"""Files that start containers of an image."""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.catalog.profiles import Profile
from envbuilder.core.canonical_json import indented_json
from envbuilder.core.image_layout import VENV, WORKSPACE
from envbuilder.core.references import ImageRef
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.lock.lock import Lock


def compose(lock: Lock, image: ImageRef) -> str:
    """Return a file of Docker Compose with one service; it gets all GPUs if the environment uses GPUs.

    The project is the working directory of the image. Ports of the image are published under the same numbers.
    Everything else is in the image itself.

    Source: https://docs.docker.com/compose/how-tos/gpu-support/ (read 2026-11-23).
    """
    service: dict[str, Plain] = {"image": str(image), "init": True, "volumes": [f".:{_project(lock)}"]}
    if lock.settings.ports:
        service["ports"] = [f"{port.partition('/')[0]}:{port.removesuffix('/tcp')}" for port in lock.settings.ports]
    if lock.cuda:
        device: dict[str, Plain] = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    return f"# {lock.summary}\n" + dump({"services": {"tensorflow": service}})


def devcontainer(lock: Lock, image: ImageRef, profiles: Sequence[Profile]) -> str:
    """Return a `devcontainer.json` that mounts the project as the working directory of the image.

    Profiles of the lock add the extensions of their tools, and forward their ports.

    Source: https://containers.dev/implementors/json_reference/ (read 2026-11-23).
    """
    added = [profile for profile in profiles if profile.id in lock.profiles]
    extensions = sorted({each for profile in added for each in profile.extensions})
    settings = {"python.defaultInterpreterPath": f"/{VENV}/bin/python"}
    folder = _project(lock)
    document: dict[str, object] = {
        "name": lock.environment,
        "image": str(image),
        "workspaceFolder": folder,
        "workspaceMount": f"source=${{localWorkspaceFolder}},target={folder},type=bind",
        "remoteUser": lock.user.name,
        "customizations": {"vscode": {"settings": settings} | ({"extensions": extensions} if extensions else {})},
    }
    ports = [int(port.removesuffix("/tcp")) for port in lock.settings.ports if port.endswith("/tcp")]
    if forwarded := sorted({*ports, *(profile.port for profile in added)}):
        document["forwardPorts"] = forwarded
    if added:
        document["portsAttributes"] = {str(profile.port): {"label": profile.id} for profile in added}
    if lock.cuda:
        document["hostRequirements"] = {"gpu": True}
    return indented_json(document).decode()


def _project(lock: Lock) -> str:
    """Return where the project is mounted: at the working directory of the image."""
    return lock.settings.workdir or f"/{WORKSPACE}"
