"""The Python interface: lock, build and validate images, recommend environments, diagnose logs.

Functions take and return typed values, print nothing, and raise `EnvbuilderError` with a message and a hint. The names
in `__all__` keep their meaning within a major version; other modules of the package may change at any time. Importing
this package imports nothing else of envbuilder until a name is used.

Example:
    >>> from envbuilder import api
    >>> api.advise(tensorflow="2.4", gpus=["K80"], driver="450.80.02").fitting[0].environment
    'tf-2.4-cuda11.0'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from envbuilder.api.advice import advise, catalog, diagnose
    from envbuilder.api.images import build, lock, read_lock, validate, validate_facts, write_lock
    from envbuilder.catalog.advise.advice import Advice, AdviceReason, Recommendation
    from envbuilder.catalog.environments import Catalog, Environment
    from envbuilder.core.errors import EnvbuilderError, Fault, InvalidInput, UsageError
    from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Passed, Report, Tier
    from envbuilder.diagnostics.findings import Finding, Remedy
    from envbuilder.diagnostics.logs.diagnosis import Cause, Diagnosis
    from envbuilder.image.builder import BuildOptions, BuiltImage, Engine
    from envbuilder.image.builds import BuildEvent
    from envbuilder.lock.ingredient_sources import Sources
    from envbuilder.lock.lock import Lock, PackagePin
    from envbuilder.lock.spec import Spec

_MODULES: Final = {
    "envbuilder.api.advice": ("advise", "catalog", "diagnose"),
    "envbuilder.api.images": ("build", "lock", "read_lock", "validate", "validate_facts", "write_lock"),
    "envbuilder.catalog.advise.advice": ("Advice", "AdviceReason", "Recommendation"),
    "envbuilder.catalog.environments": ("Catalog", "Environment"),
    "envbuilder.core.errors": ("EnvbuilderError", "Fault", "InvalidInput", "UsageError"),
    "envbuilder.diagnostics.checks.results": ("CheckResult", "Failed", "NotProven", "Passed", "Report", "Tier"),
    "envbuilder.diagnostics.findings": ("Finding", "Remedy"),
    "envbuilder.diagnostics.logs.diagnosis": ("Cause", "Diagnosis"),
    "envbuilder.image.builder": ("BuildOptions", "BuiltImage", "Engine"),
    "envbuilder.image.builds": ("BuildEvent",),
    "envbuilder.lock.lock": ("Lock", "PackagePin"),
    "envbuilder.lock.ingredient_sources": ("Sources",),
    "envbuilder.lock.spec": ("Spec",),
}
_PLACES: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Advice",
    "AdviceReason",
    "BuildEvent",
    "BuildOptions",
    "BuiltImage",
    "Catalog",
    "Cause",
    "CheckResult",
    "Diagnosis",
    "Engine",
    "EnvbuilderError",
    "Environment",
    "Failed",
    "Fault",
    "Finding",
    "InvalidInput",
    "Lock",
    "NotProven",
    "PackagePin",
    "Passed",
    "Recommendation",
    "Remedy",
    "Report",
    "Sources",
    "Spec",
    "Tier",
    "UsageError",
    "advise",
    "build",
    "catalog",
    "diagnose",
    "lock",
    "read_lock",
    "validate",
    "validate_facts",
    "write_lock",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  functions and classes
    """Import a name on its first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
