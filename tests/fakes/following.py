"""What an `ImageRunner` needs for followed commands, over one sandbox."""

from __future__ import annotations

from pathlib import Path

from envbuilder.image.running.image_runner import Following
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import ChosenSandbox


def following(folder: Path, sandbox: Sandbox, *, read_only: str = "", as_root: bool = False) -> Following:
    """Follow commands in a sandbox.

    Args:
        folder: Receives `work` and `kept`.
        sandbox: Runs the commands.
        read_only: Why it cannot change images; empty if it can.
        as_root: Whether it has the users of this host.
    """
    return Following(
        chosen=lambda _: ChosenSandbox(sandbox=sandbox, as_root=as_root, read_only=read_only),
        work=folder / "work",
        kept=lambda: folder / "kept",
    )
