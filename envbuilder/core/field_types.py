"""Field types with a grammar, for dataclasses read by `core/structure.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envbuilder.core import names, references
from envbuilder.core.digests import sha256_digest
from envbuilder.core.field_rules import Parsed
from envbuilder.core.versions import Release


def within(least: int, most: int, why: str = "") -> Parsed:
    """Return the rule for an integer in a range; `why` is added to the problem."""

    def check(number: int) -> int:
        if not least <= number <= most:
            raise ValueError(f"must be {least} to {most}{why and f': {why}'}")
        return number

    return Parsed(check, of=int, write=int)


def exactly(number: int) -> Parsed:
    """Return the rule for a whole number that has one value, such as the schema of a document."""

    def check(found: int) -> int:
        if found != number:
            raise ValueError(f"must be {number}")
        return found

    return Parsed(check, of=int, write=int)


def _or_empty(parse: Callable[[str], str]) -> Parsed:
    """Return the rule for a text that is empty or follows a grammar."""
    return Parsed(lambda text: parse(text) if text else "")


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
        raise ValueError(f"{text!r} is not a regular expression:  {error}") from error
    return text


def _exact_pin(text: str) -> str:
    name, equals, version = text.partition("==")
    if not equals or not name or not version or version.endswith("*"):
        raise ValueError(f"{text!r} must pin one version: name==version")
    return text


def _tagged_image(text: str) -> str:
    reference = references.ImageRef.parse(text)
    if not reference.tag or reference.digest:
        raise ValueError(f"{text!r} must be repository:tag")
    return text


ArchiveMember: TypeAlias = Annotated[str, Parsed(names.archive_member)]
DebianFile: TypeAlias = Annotated[str, Parsed(names.debian_file)]
Commit: TypeAlias = Annotated[str, _or_empty(names.commit)]
DebianName: TypeAlias = Annotated[str, Parsed(names.debian_name)]
DebianSuite: TypeAlias = Annotated[str, Parsed(names.debian_suite)]
Digest: TypeAlias = Annotated[str, Parsed(sha256_digest)]
DistributionFile: TypeAlias = Annotated[str, Parsed(names.distribution_file)]
DistributionName: TypeAlias = Annotated[str, Parsed(references.normalized)]
DistributionVersion: TypeAlias = Annotated[str, Parsed(names.distribution_version)]
ExactPin: TypeAlias = Annotated[str, Parsed(_exact_pin)]
FileName: TypeAlias = Annotated[str, Parsed(names.file_name)]
FileSize: TypeAlias = Annotated[int, within(0, names.LARGEST_FILE)]
HttpsAddress: TypeAlias = Annotated[str, _or_empty(names.https_address)]
ImageName: TypeAlias = Annotated[str, Parsed(references.image_name)]
LayerId: TypeAlias = Annotated[str, Parsed(names.layer_id)]
LibraryName: TypeAlias = Annotated[str, Parsed(names.library_name)]
MediaType: TypeAlias = Annotated[str, Parsed(names.media_type)]
OptionalArchiveMember: TypeAlias = Annotated[str, _or_empty(names.archive_member)]
OptionalDebianVersion: TypeAlias = Annotated[str, _or_empty(names.debian_version)]
OptionalDigest: TypeAlias = Annotated[str, _or_empty(sha256_digest)]
OptionalSha256: TypeAlias = Annotated[str, _or_empty(names.sha256)]
OsPackage: TypeAlias = Annotated[str, Parsed(names.os_package)]
PackageRange: TypeAlias = Annotated[Requirement, Parsed(_package_range)]
Pattern: TypeAlias = Annotated[str, Parsed(_pattern)]
PythonVersion: TypeAlias = Annotated[Release, Parsed(names.python_version)]
RowId: TypeAlias = Annotated[str, Parsed(names.row_id)]
RuntimeRequirement: TypeAlias = Annotated[str, _or_empty(names.runtime_requirement)]
Sha256: TypeAlias = Annotated[str, Parsed(names.sha256)]
TaggedImage: TypeAlias = Annotated[str, Parsed(_tagged_image)]
VersionRange: TypeAlias = Annotated[SpecifierSet, Parsed(_version_range)]
WheelVersion: TypeAlias = Annotated[Version, Parsed(names.pep440)]
