"""Optional dependencies of envbuilder, and the commands that install them into its own environment.

The distribution `envbuilder` of the public index is another project, so that no hint may name it: envbuilder and its
extras are installed from the repository.
"""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from types import ModuleType

from packaging.requirements import Requirement

from envbuilder.core.errors import ToolMissing


def install_command(package: str, *, again: bool = False) -> str:
    """Return the command that installs a dependency in the required version.

    Args:
        package: Name of the distribution.
        again: Whether to replace the installed one.
    """
    python = shlex.quote(sys.executable)
    with_uv = package != "uv" and find_spec("pip") is None and find_spec("uv") is not None
    tool = f"{python} -m uv pip install --python {python}" if with_uv else f"{python} -m pip install"
    options = [] if not again else ["--reinstall" if with_uv else "--force-reinstall"]
    return " ".join((tool, *options, shlex.quote(_requirement(package))))


def optional_package(name: str, problem: str) -> ModuleType:
    """Import a package that only an extra of envbuilder requires.

    Args:
        name: Name of the distribution and of the module.
        problem: What cannot be done without it.

    Raises:
        ToolMissing: It is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolMissing(problem, hint=f"`{install_command(name)}`") from error


def _requirement(package: str) -> str:
    try:
        listed = [Requirement(text) for text in requires("envbuilder") or ()]
    except PackageNotFoundError:  # run from a checkout that is not installed
        return package
    return next((f"{each.name}{each.specifier}" for each in listed if each.name == package), package)
