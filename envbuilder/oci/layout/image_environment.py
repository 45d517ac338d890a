"""Environment variables of an image for programs that start it beside the environment of the host."""

from __future__ import annotations

from envbuilder.core.json_fields import parsed, record, texts
from envbuilder.oci.images import AssembledImage

HOST_ONLY = (
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
)
"""Variables by which a host changes the interpreter, the packages or the locale of an image; modules of clusters and
conda set them. `~/.local` needs none: the virtual environment of the image does not search it.

Source: https://docs.python.org/3/using/cmdline.html#environment-variables
"""


def environment_of(image: AssembledImage) -> tuple[tuple[str, str], ...]:
    """Return the variables of an image by name, in the order of its configuration; without `=` means empty."""
    pairs = (item.partition("=") for item in texts(parsed(image.config.content), "config", "Env"))
    return tuple((name, value) for name, _, value in pairs if name)


def cleared(environment: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the names of variables of the host that the image has to hide: those that it does not set itself."""
    own = {name for name, _ in environment}
    return tuple(name for name in HOST_ONLY if name not in own)


def variables_of(image: AssembledImage) -> tuple[tuple[str, str], ...]:
    """Return the variables of an image, then those of the host that it has to hide, which are empty."""
    environment = environment_of(image)
    return (*environment, *((name, "") for name in cleared(environment)))


def config_of(image: AssembledImage) -> object:
    """Return the part of the configuration that describes a container."""
    return record(parsed(image.config.content), "config")
