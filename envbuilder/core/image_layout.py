"""Where things are in an image, as paths relative to its root.

The templates of Dockerfiles get all of them: `VENV` as `paths.venv`, which is absolute.
"""

from __future__ import annotations

VENV = "opt/venv"
"""The virtual environment."""

PYTHON = "opt/python"
"""The interpreter, where it comes from an archive."""

OURS = "opt/envbuilder"
"""What envbuilder adds for itself."""

LOCK_FILE = f"{OURS}/envbuilder.lock"
PROBE_FILE = f"{OURS}/probe.py"
HOOK_FILE = f"{OURS}/memory_hook.py"
WORKSPACE = "workspace"
"""Working directory of the account that the image runs as."""

LIBRARIES = "usr/lib/x86_64-linux-gnu"
"""Libraries of the system; links to those of CUDA wheels lie here too."""

INPUTS = "run/envbuilder"
"""Where the files of a build are while a Dockerfile is built; nothing below it is in a layer."""

BUILD_TOOLS = "opt/build-tools"
"""What source distributions are built with; in a stage of its own, and not in the image."""


def home(account: str) -> str:
    """Return the home directory of an account."""
    return f"home/{account}"


def site_packages(series: str, venv: str = VENV) -> str:
    """Return the directory of installed packages.

    Args:
        series: Of the interpreter, such as `3.8`.
        venv: The virtual environment.
    """
    return f"{venv}/lib/python{series}/site-packages"
