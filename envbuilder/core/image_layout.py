"""Paths of envbuilder's files in an image, relative to its root.

The templates of Dockerfiles receive all of them as absolute paths: `VENV` as `paths.venv`.
"""

from __future__ import annotations

VENV = "opt/venv"
"""Virtual environment."""

PYTHON = "opt/python"
"""Interpreter, if it comes from an archive."""

OURS = "opt/envbuilder"
"""Files of envbuilder itself."""

LOCK_FILE = f"{OURS}/envbuilder.lock"
PROBE_FILE = f"{OURS}/probe.py"
HOOK_FILE = f"{OURS}/memory_hook.py"
WORKSPACE = "workspace"
"""Working directory of the user that the image runs as."""

LIBRARIES = "usr/lib/x86_64-linux-gnu"
"""Libraries of the system and of vendor archives, and links to those of CUDA wheels."""

LICENSES = "usr/share/doc/envbuilder"
"""Licenses of vendor archives, in a directory for each archive."""

INPUTS = "run/envbuilder"
"""Files of the build context during the build of a Dockerfile; none of them is in a layer."""

BUILD_TOOLS = "opt/build-tools"
"""Build dependencies of source distributions, in a stage of its own and not in the image."""

BUILD_STAGE = "build-stage"
"""Build dependencies of own packages and what they built, in the stage that builds them and not in the image."""


def home(account: str) -> str:
    """Return the home directory of a user."""
    return f"home/{account}"


def site_packages(series: str, venv: str = VENV) -> str:
    """Return the directory of installed packages for a release of the interpreter such as `3.8`."""
    return f"{venv}/lib/python{series}/site-packages"
