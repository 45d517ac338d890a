"""Libraries of the optional extras, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from envbuilder.core.errors import ToolMissing
from envbuilder.core.install_commands import install_command


def optional_library(name: str, extra: str) -> Any:  # noqa: ANN401  a module
    """Import a library of an optional extra.

    Args:
        name: Module and distribution.
        extra: Extra of this package that installs it.

    Raises:
        ToolMissing: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ToolMissing(
            f"the library {name} is not installed, which the extra `{extra}` has", hint=f"`{install_command(name)}`"
        ) from error
