"""Variables that look like ours and set nothing, such as a misspelled `ENVBUILDER_CAHCE`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping

from envbuilder.wiring.configuration import OPTIONS_SENT, SETTINGS
from envbuilder.wiring.settings import CONFIGURATION_VARIABLE

PREFIX = "ENVBUILDER_"
OTHER_VARIABLES = frozenset(
    {
        CONFIGURATION_VARIABLE,
        OPTIONS_SENT,
        # Images, probes and workers of a training.
        *("ENVBUILDER_MEMORY", "ENVBUILDER_PROBE_TMPDIR", "ENVBUILDER_WORKER"),
        # Job scripts of `cluster slurm` and `cluster apptainer`.
        *("ENVBUILDER_JOB_FILES", "ENVBUILDER_NODE_CACHE", "ENVBUILDER_WORKERS"),
        # Tests.
        *("ENVBUILDER_FUZZ_SECONDS", "ENVBUILDER_REQUIRE_ENGINE"),
    }
)
"""Variables that are neither settings nor options."""
_OF_SERVICE = re.compile(r"_(SERVICE_HOST|SERVICE_PORT|PORT)(_[A-Z0-9_]+)?$")
"""Kubernetes sets such variables in pods for each service, which may have our name.

Source: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
"""
_SETTINGS = frozenset(setting.variable for setting in SETTINGS)


def unknown_variables(
    environ: Mapping[str, str], own: Collection[str], others: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the variables that set nothing, sorted, each with the nearest one that does, or an empty text.

    Args:
        environ: The environment variables.
        own: Variables of the options that are known.
        others: Beginnings of the variables of options that are not known, since their commands were not imported.
    """
    for name in sorted(_foreign(environ)):
        if name not in own and not name.startswith(others):
            yield name, _nearest(name, own)


def _foreign(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables with our prefix that are neither settings nor known to be read elsewhere."""
    for name, text in environ.items():
        is_ours = name.startswith(PREFIX) and bool(text)
        if is_ours and name not in _SETTINGS | OTHER_VARIABLES and not _OF_SERVICE.search(name):
            yield name


def _nearest(variable: str, options: Collection[str]) -> str:
    """Return the variable of a setting or of one of these options that resembles a variable; empty if none does."""
    names = sorted(each.removeprefix(PREFIX) for each in (*_SETTINGS, CONFIGURATION_VARIABLE, *options))
    near = difflib.get_close_matches(variable.removeprefix(PREFIX), names, 1)
    return PREFIX + near[0] if near else ""
