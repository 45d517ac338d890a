"""Rules of dpkg for files of Debian packages, applied without scripts and without questions to an administrator.

Source: Debian Policy 7.6 (Replaces),
https://www.debian.org/doc/debian-policy/ch-relationships.html#overwriting-files-and-replacing-packages-replaces; and
dpkg 1.21, src/main/archives.c, tarobject(): a directory over a link to a directory
keeps the link; a file of another package is only replaced with `Replaces`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_paths import impossible, is_ours, shadowed
from envbuilder.image.base.deb.package_file import DebFile
from envbuilder.image.base.deb.versions import fits
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.tar.members import Kind, Member

_REPLACES = re.compile(r"^Replaces:((?:.*\n?)(?:[ \t].*\n?)*)", re.MULTILINE | re.IGNORECASE)
_RELATION = re.compile(r"\s*([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\((<<|<=|=|>=|>>)\s*(\S+?)\s*\))?\s*")
_LIST = re.compile(r"var/lib/dpkg/info/([^/:]+)(?::[^/]+)?\.list")
_STATUS = "var/lib/dpkg/status"
_INTERPRETER = re.compile(r"usr/bin/python3(?:\.\d+)?|usr/lib/python3\.\d+/.*")
_MOST_LINKS = 40
"""Limit of Linux (MAXSYMLINKS), https://github.com/torvalds/linux/blob/master/include/linux/namei.h"""


def require_pinned(pin: OsPackagePin, deb: DebFile) -> None:
    """Raise VerificationFailed if a .deb is another package, or another version, than its pin."""
    fields = dict(re.findall(r"^(Package|Version):[ \t]*(\S+)[ \t]*$", deb.fields, re.MULTILINE))
    if (fields.get("Package"), fields.get("Version")) != (pin.name, pin.version):
        raise VerificationFailed(
            f"{pin.file} is {fields.get('Package')} {fields.get('Version')}, the lock has {pin.name} {pin.version}",
            hint="run `envbuilder lock`",
        )


def require_admitted(member: Member, pin: OsPackagePin) -> None:
    """Raise VerificationFailed if a package must not install a file in an image."""
    reason = impossible(member.path)
    if not reason and is_ours(member.path):
        reason = "it is in a directory that envbuilder writes"
    elif not reason and member.kind is not Kind.FOLDER and shadowed(member.path):
        reason = f"it hides the program {shadowed(member.path)!r} of the base"
    elif not reason and member.xattrs:
        reason = "it has extended attributes, such as capabilities, which dpkg does not install"
    if reason:
        raise _refused(f"{pin.name} contains /{member.path}: {reason}")


def replaces(deb: DebFile, package: str, version: str) -> bool:
    """Return True if a package declares that it replaces files of another one in this version."""
    for found in _REPLACES.finditer(deb.fields + "\n"):
        for relation in found[1].split(","):
            match = _RELATION.fullmatch(relation)
            if match and match[1] == package and (not match[2] or fits(version, match[2], match[3])):
                return True
    return False


@dataclass(kw_only=True)
class Below:
    """The base below added packages.

    Attributes:
        members: Its files by path.
    """

    members: Mapping[str, Member]
    _folders: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, tuple[str, str]] | None = None

    def placed(self, member: Member) -> Member:
        """Return a member at its resolved path: directories above it can be links in the base."""
        above, slash, name = member.path.rpartition("/")
        if not slash:
            return member
        place = self._resolved(above)
        if place in self.members and self.members[place].kind is not Kind.FOLDER:
            raise _refused(f"/{member.path} of a package lies below /{place}, which is a file of the base")
        return replace(member, path=f"{place}/{name}")

    def keeps(self, member: Member, pin: OsPackagePin, deb: DebFile) -> bool:
        """Return True if the base keeps its own file or directory.

        Raises:
            VerificationFailed: The package must not replace it.
        """
        before = self.members.get(member.path)
        if before is None:
            return False
        if member.kind is Kind.FOLDER and before.kind in {Kind.FOLDER, Kind.SYMLINK}:
            if before.kind is Kind.FOLDER or self._leads_to_folder(before):
                return True
        elif Kind.FOLDER not in {member.kind, before.kind}:
            return self._keeps_file(before, member, pin, deb)
        owner, _ = self._owner(member.path)
        raise _refused(
            f"{pin.name} contains a {_WORDS[member.kind]} in place of the {_WORDS[before.kind]} /{member.path} of "
            f"{owner or 'the base'}"
        )

    def _keeps_file(self, before: Member, member: Member, pin: OsPackagePin, deb: DebFile) -> bool:
        if is_equal(before, member):
            return member.kind is Kind.SYMLINK
        owner, version = self._owner(member.path)
        if owner != pin.name and _INTERPRETER.fullmatch(member.path):
            raise _refused(f"{pin.name} replaces /{member.path} of {owner or 'the base'}, a part of the interpreter")
        if owner == pin.name or (owner and replaces(deb, owner, version)):
            return False
        raise _refused(
            f"{pin.name} replaces /{member.path} of {owner}, without a field `Replaces: {owner}`"
            if owner
            else f"{pin.name} replaces /{member.path} of the base, which belongs to no package"
        )

    def _leads_to_folder(self, link: Member) -> bool:
        found = self.members.get(self._resolved(link.path))
        return found is not None and found.kind is Kind.FOLDER

    def _resolved(self, path: str) -> str:
        if path not in self._folders:
            self._folders[path] = self._follow(path)
        return self._folders[path]

    def _follow(self, path: str) -> str:
        left, done = path.split("/")[::-1], ""
        for _ in range(_MOST_LINKS + len(left)):
            if not left:
                return done
            here = posixpath.normpath(f"/{done}/{left.pop()}").lstrip("/")
            member = self.members.get(here)
            if member is None or member.kind is Kind.FOLDER or (not left and member.kind is not Kind.SYMLINK):
                done = here
                continue
            if member.kind is not Kind.SYMLINK:
                raise _refused(f"/{path} of a package lies below /{here}, which is a file of the base")
            left += [part for part in member.target.split("/")[::-1] if part]
            if member.target.startswith("/"):
                done = ""
        raise _refused(f"too many levels of symbolic links: /{path}")

    def _owner(self, path: str) -> tuple[str, str]:
        """Return name and version of the package that owns a file of the base; empty if there is none."""
        if self._owners is None:
            versions = dict(_versions(self.members))
            self._owners = {
                file: (package, versions.get(package, ""))
                for name, member in self.members.items()
                if (found := _LIST.fullmatch(name))
                for package in [found[1]]
                for line in member.read().decode("utf-8", "surrogateescape").splitlines()
                for file in [self.placed(replace(member, path=line.strip("/"))).path]
            }
        return self._owners.get(path, ("", ""))


_WORDS = {Kind.FOLDER: "directory", Kind.SYMLINK: "link", Kind.FILE: "file"}


def is_equal(one: Member, two: Member) -> bool:
    """Return True if two members are interchangeable."""
    if one.kind is not two.kind or (one.target, one.size) != (two.target, two.size):
        return False
    return one.kind is not Kind.FILE or one.read() == two.read()


def _versions(members: Mapping[str, Member]) -> Iterable[tuple[str, str]]:
    status = members[_STATUS].read().decode("utf-8", "replace") if _STATUS in members else ""
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version):[ \t]*(\S+)", paragraph, re.MULTILINE))
        if len(fields) == 2:
            yield fields["Package"], fields["Version"]


def _refused(message: str) -> VerificationFailed:
    return VerificationFailed(
        message, hint="remove that package from `apt:` in envbuilder.yaml, then run `envbuilder lock`"
    )
