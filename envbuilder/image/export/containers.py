"""Files that start containers of an image."""

from __future__ import annotations

from envbuilder.core.canonical_json import indented_json
from envbuilder.core.image_layout import VENV, WORKSPACE
from envbuilder.core.references import ImageRef
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.lock.lock import Lock


def compose(lock: Lock, image: ImageRef) -> str:
    """Return a file of Docker Compose with one service; it gets all GPUs if the environment uses GPUs.

    Ports of the image are published under the same numbers. Everything else is in the image itself.

    Source: https://docs.docker.com/compose/how-tos/gpu-support/ (read 2026-11-23).
    """
    service: dict[str, Plain] = {"image": str(image), "init": True, "volumes": [f".:/{WORKSPACE}"]}
    if lock.settings.ports:
        service["ports"] = [f"{port.partition('/')[0]}:{port.removesuffix('/tcp')}" for port in lock.settings.ports]
    if lock.cuda:
        device: dict[str, Plain] = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    return f"# {lock.summary}\n" + dump({"services": {"tensorflow": service}})


def devcontainer(lock: Lock, image: ImageRef) -> str:
    """Return a `devcontainer.json` that mounts the project as the working directory of the image.

    Source: https://containers.dev/implementors/json_reference/ (read 2026-11-23).
    """
    document: dict[str, object] = {
        "name": lock.environment,
        "image": str(image),
        "workspaceFolder": f"/{WORKSPACE}",
        "workspaceMount": f"source=${{localWorkspaceFolder}},target=/{WORKSPACE},type=bind",
        "remoteUser": lock.user.name,
        "customizations": {"vscode": {"settings": {"python.defaultInterpreterPath": f"/{VENV}/bin/python"}}},
    }
    if ports := [int(port.removesuffix("/tcp")) for port in lock.settings.ports if port.endswith("/tcp")]:
        document["forwardPorts"] = ports
    if lock.cuda:
        document["hostRequirements"] = {"gpu": True}
    return indented_json(document).decode()
