"""Types of fields in the matrices whose text has a grammar."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envbuilder.core.field_rules import Parsed
from envbuilder.core.references import ImageRef
from envbuilder.core.yaml.requirements import os_package, pep440


def _version_range(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{text!r} is not a version range, such as >=1.5,<1.13") from error


def _package_range(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a package with versions, such as numpy>=2") from error


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


def _exact_pin(text: str) -> str:
    name, equals, version = text.partition("==")
    if not equals or not name or not version or version.endswith("*"):
        raise ValueError(f"{text!r} must pin one version: name==version")
    return text


def _tagged_image(text: str) -> str:
    reference = ImageRef.parse(text)
    if not reference.tag or reference.digest:
        raise ValueError(f"{text!r} must be repository:tag")
    return text


def _linkage(text: str) -> str:
    if text not in {"needed", "dlopen"}:
        raise ValueError(f"{text!r} is none of needed, dlopen")
    return text


ExactPin: TypeAlias = Annotated[str, Parsed(_exact_pin)]
Linkage: TypeAlias = Annotated[str, Parsed(_linkage)]
OsPackage: TypeAlias = Annotated[str, Parsed(os_package)]
PackageRange: TypeAlias = Annotated[Requirement, Parsed(_package_range)]
Pattern: TypeAlias = Annotated[str, Parsed(_pattern)]
TaggedImage: TypeAlias = Annotated[str, Parsed(_tagged_image)]
VersionRange: TypeAlias = Annotated[SpecifierSet, Parsed(_version_range)]
WheelVersion: TypeAlias = Annotated[Version, Parsed(pep440)]
