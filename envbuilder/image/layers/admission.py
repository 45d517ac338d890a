"""Rules for the files that a distribution may install in an image."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from email.parser import HeaderParser

from packaging.version import InvalidVersion, Version

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_paths import impossible, is_code, is_of_environment, parents, shadowed
from envbuilder.core.references import normalized
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.wheel_file import Wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.lock.lock import PackagePin
from envbuilder.oci.tar.members import Kind

_METADATA = re.compile(r"([^/]+?)(?:-[^/]*)?\.(?:dist|egg)-info(?![^/])")


def require_pinned(wheel: Wheel, pin: PackagePin) -> None:
    """Raise VerificationFailed if the metadata of a wheel is of another distribution, or another version, than the pin.

    Installers compare them too: uv refuses the wheel, pip warns and refuses if it resolved the name.
    """
    folder = wheel.dist_info.removesuffix(".dist-info")
    name, _, version = folder.rpartition("-")
    head = wheel.text(f"{wheel.dist_info}/METADATA").partition("\n\n")[0]
    headers = HeaderParser().parsestr(head, headersonly=True)
    found = (
        (f"the directory {wheel.dist_info}", name, version),
        ("METADATA", str(headers.get("Name", "")), str(headers.get("Version", ""))),
    )
    for where, its_name, its_version in found:
        if not (_same_name(its_name.strip(), pin.name) and _same_version(its_version.strip(), pin.version)):
            raise VerificationFailed(
                f"{wheel.name} cannot be installed: {where} is of {its_name.strip()!r} {its_version.strip()!r}, "
                f"the lock has {pin.name} {pin.version}",
                hint="choose another version of the package",
            )


def _same_name(found: str, wanted: str) -> bool:
    try:
        return normalized(found) == normalized(wanted)
    except ValueError:
        return False


def _same_version(found: str, wanted: str) -> bool:
    try:
        # A directory has an underscore where a local version has a hyphen.
        return Version(found.replace("_", "-")) == Version(wanted)
    except InvalidVersion:
        return found == wanted


def admitted(wheel: Wheel, prefix: Prefix, allowed: Collection[str]) -> Iterator[Entry]:
    """Yield the entries of an installed wheel after checking them; `allowed` are absolute paths that the spec allows.

    Raises:
        VerificationFailed: An entry cannot be in an image, replaces a part of the interpreter or its environment, hides
            a program of the base, or is metadata of another distribution.
    """
    dist_info = wheel.dist_info
    for entry in installed(wheel, prefix):
        if problem := _problem(entry, prefix, dist_info):
            raise VerificationFailed(
                f"{entry.origin} cannot be installed: /{entry.path}: {problem}",
                hint="choose another version of the package",
            )
        if entry.member.kind is not Kind.FOLDER and f"/{entry.path}" not in allowed and shadowed(entry.path):
            raise VerificationFailed(
                f"{entry.origin} cannot be installed: /{entry.path} hides the program {shadowed(entry.path)!r} of the "
                "base",
                hint=_allow(entry.path),
            )
        yield entry


def _problem(entry: Entry, prefix: Prefix, dist_info: str) -> str:
    path = entry.path
    if entry.member.kind is not Kind.FOLDER and is_of_environment(path):
        return "it replaces a part of the interpreter or of its environment"
    if path.startswith(f"{prefix.site}/"):
        found = _METADATA.match(path.removeprefix(f"{prefix.site}/"))
        if found and found[0] != dist_info and not _same_name(found[1], dist_info.partition("-")[0]):
            return "it is metadata of another distribution"
    return impossible(path)


def _allow(path: str) -> str:
    return f'to accept it, add `allow: ["/{path}"]` to envbuilder.yaml, then run `envbuilder lock`'


class Clashes:
    """Paths that two distributions contain.

    Attributes:
        notes: One line for each path with different contents, of which the later one is in the image.
    """

    def __init__(self, checksum: Callable[[Entry], int], allowed: Collection[str] = ()) -> None:
        self.notes: list[str] = []
        self._checksum = checksum
        self._allowed = allowed
        self._files: dict[str, tuple[Entry, bool]] = {}
        self._folders: dict[str, str] = {}

    def see(self, entry: Entry, *, own: bool = False) -> None:
        """Record an entry, of the user's own distribution if `own` is true; those of lower layers come first.

        Raises:
            VerificationFailed: A path is a file in one distribution and a directory in another, or an own package
                changes code of the environment.
        """
        if entry.member.kind is Kind.FOLDER:
            self._see_folders(entry.path, entry)
            return
        if entry.path in self._folders:
            raise _file_and_folder(entry.path, entry.origin, self._folders[entry.path])
        self._see_folders(entry.path.rpartition("/")[0], entry)
        before = self._files.get(entry.path)
        self._files[entry.path] = (entry, own)
        if before and before[0].origin != entry.origin and self._differ(before[0], entry):
            self._replaced(*before, entry, own=own)

    def _see_folders(self, path: str, entry: Entry) -> None:
        for folder in (path, *parents(path)):
            if folder in self._folders:
                return
            if folder in self._files:
                raise _file_and_folder(folder, self._files[folder][0].origin, entry.origin)
            self._folders[folder] = entry.origin

    def _differ(self, one: Entry, two: Entry) -> bool:
        return one.member.size != two.member.size or self._checksum(one) != self._checksum(two)

    def _replaced(self, before: Entry, before_is_own: bool, entry: Entry, *, own: bool) -> None:  # noqa: FBT001
        if own and not before_is_own and is_code(entry.path) and f"/{entry.path}" not in self._allowed:
            raise VerificationFailed(
                f"{entry.origin} cannot be installed: it replaces /{entry.path} of {before.origin}, which is a package "
                "of the environment",
                hint=_allow(entry.path),
            )
        self.notes.append(f"{entry.path} is in {before.origin} and in {entry.origin}, and differs: the latter is taken")


def _file_and_folder(path: str, file: str, folder: str) -> VerificationFailed:
    return VerificationFailed(
        f"/{path} is a file of {file} and a directory of {folder}",
        hint="remove one of the two packages, or choose another version",
    )
