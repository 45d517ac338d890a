"""Field types with a grammar, for dataclasses read by `core/structure.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

from envbuilder.core import names, references
from envbuilder.core.digests import sha256_digest
from envbuilder.core.field_rules import Parsed
from envbuilder.core.image_paths import allowable, image_path
from envbuilder.core.versions import Release
from envbuilder.core.yaml import requirements


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


def or_empty(parse: Callable[[str], str]) -> Parsed:
    """Return the rule for a text that is empty or follows a grammar."""
    return Parsed(lambda text: parse(text) if text else "")


AllowedPath: TypeAlias = Annotated[str, Parsed(allowable)]
ArchiveMember: TypeAlias = Annotated[str, Parsed(names.archive_member)]
DebianFile: TypeAlias = Annotated[str, Parsed(names.debian_file)]
DebianName: TypeAlias = Annotated[str, Parsed(names.debian_name)]
DebianSuite: TypeAlias = Annotated[str, Parsed(names.debian_suite)]
Digest: TypeAlias = Annotated[str, Parsed(sha256_digest)]
DistributionFile: TypeAlias = Annotated[str, Parsed(names.distribution_file)]
DistributionName: TypeAlias = Annotated[str, Parsed(references.normalized)]
DistributionVersion: TypeAlias = Annotated[str, Parsed(names.distribution_version)]
FileName: TypeAlias = Annotated[str, Parsed(names.file_name)]
FileSize: TypeAlias = Annotated[int, within(0, names.LARGEST_FILE)]
HttpsAddress: TypeAlias = Annotated[str, or_empty(names.https_address)]
ImageName: TypeAlias = Annotated[str, Parsed(references.image_name)]
ImagePath: TypeAlias = Annotated[str, Parsed(image_path)]
LayerId: TypeAlias = Annotated[str, Parsed(names.layer_id)]
LibraryName: TypeAlias = Annotated[str, Parsed(names.library_name)]
MediaType: TypeAlias = Annotated[str, Parsed(names.media_type)]
OptionalArchiveMember: TypeAlias = Annotated[str, or_empty(names.archive_member)]
OptionalDebianVersion: TypeAlias = Annotated[str, or_empty(names.debian_version)]
OptionalDigest: TypeAlias = Annotated[str, or_empty(sha256_digest)]
OptionalSha256: TypeAlias = Annotated[str, or_empty(requirements.sha256)]
PythonVersion: TypeAlias = Annotated[Release, Parsed(names.python_version)]
RowId: TypeAlias = Annotated[str, Parsed(names.row_id)]
Sha256: TypeAlias = Annotated[str, Parsed(requirements.sha256)]
