"""Unpacked packages as one tree, with the effect of their scripts as data.

No script is run: no root, no chroot, and the same bytes everywhere. Packages with relevant scripts are named, and left
in the state "unpacked", so that `dpkg --configure -a` can finish them in a container.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_paths import MERGED, merged
from envbuilder.image.base.deb.dpkg_rules import Below, is_equal, replaces, require_admitted, require_pinned
from envbuilder.image.base.deb.package_file import DebFile, open_deb
from envbuilder.image.base.privileges import unprivileged
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.tar.members import EPOCH, Kind, Member, file_of

_EXCLUDED = re.compile(
    r"usr/share/(?:man|info)/.*|usr/share/locale/(?!locale\.alias$).*|usr/share/doc/(?!.*/copyright$|[^/]*$).*"
)
_SCRIPTS = ("preinst", "postinst")
_THREADS = 2
_STATUS = "var/lib/dpkg/status"
_SHADOW_GID = 42
_LINKS = {
    "awk": ("usr/bin/awk", "/etc/alternatives/awk", "usr/bin/mawk"),
    "nawk": ("usr/bin/nawk", "/etc/alternatives/nawk", "usr/bin/mawk"),
    "which": ("usr/bin/which", "/etc/alternatives/which", "usr/bin/which.debianutils"),
}
"""Name, link in the path, and program of each alternative that the scripts would set."""

_COPIES = {
    "etc/nsswitch.conf": "usr/share/base-files/nsswitch.conf",
    "etc/profile": "usr/share/base-files/profile",
    "etc/motd": "usr/share/base-files/motd",
    "root/.profile": "usr/share/base-files/dot.profile",
    "root/.bashrc": "usr/share/base-files/dot.bashrc",
}
"""Files that base-files installs elsewhere and copies when it is configured."""

_DPKG_OPTIONS = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-include=/usr/share/locale/locale.alias",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedTree:
    """A tree of packages.

    Attributes:
        members: Each path once, in no particular order.
        unconfigured: Packages whose scripts were not run, sorted.
        cleared: Programs whose set-user-ID and set-group-ID bits were cleared, as relative paths, sorted.
    """

    members: tuple[Member, ...]
    unconfigured: tuple[str, ...]
    cleared: tuple[str, ...]


def base_tree(
    packages: Iterable[tuple[OsPackagePin, Path]],
    *,
    work: Path,
    allowed: frozenset[str] = frozenset(),
) -> UnpackedTree:
    """Return a root file system of some packages, with time stamps up to `EPOCH`: later ones become this one.

    Args:
        packages: Each with its .deb.
        work: Directory for what is unpacked; must stay as long as members are read.
        allowed: Relative paths of programs that keep their set-user-ID and set-group-ID bits.

    Raises:
        VerificationFailed: A .deb is damaged, or two of them contain the same file.
    """
    opened = _opened(packages, work)
    tree = _Files(allowed)
    for name in MERGED:
        if name in {"lib32", "libx32"}:
            continue
        tree.add(_folder(f"usr/{name}"), "")
        tree.add(Member(path=name, kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target=f"usr/{name}"), "")
    for pin, deb in opened:
        tree.unpack(pin, deb)
    for member in _configuration(tree.found):
        tree.put(member)
    for member in _database(opened):
        tree.put(member)
    return tree.unpacked(opened)


def added_tree(
    packages: Iterable[tuple[OsPackagePin, Path]],
    base: Iterable[Member],
    *,
    work: Path,
    allowed: frozenset[str] = frozenset(),
) -> UnpackedTree:
    """Return the files that further packages add to a base, including the extended list of packages.

    Args:
        packages: Each with its .deb.
        base: Members of the base.
        work: As in `base_tree`.
        allowed: As in `base_tree`.

    Raises:
        VerificationFailed: As in `base_tree`; or a package replaces a file of the base, against the rules of dpkg.
    """
    opened = _opened(packages, work)
    below = {member.path: member for member in base}
    tree = _Files(allowed, Below(members=below))
    for pin, deb in opened:
        tree.unpack(pin, deb)
    status = below[_STATUS].read() if _STATUS in below else b""
    for member in _database(opened, before=status):
        tree.put(member)
    whole = tree.unpacked(opened)
    # Directories of the base stay as they are: a layer that named them again would change their owners.
    new = tuple(member for member in whole.members if not (member.kind is Kind.FOLDER and member.path in below))
    return replace(whole, members=new)


def _opened(packages: Iterable[tuple[OsPackagePin, Path]], work: Path) -> list[tuple[OsPackagePin, DebFile]]:
    ordered = sorted(packages, key=lambda pair: pair[0].name)
    with ThreadPoolExecutor(_THREADS) as pool:
        debs = pool.map(lambda pair: open_deb(pair[1], f"{pair[0].name} {pair[0].version}", work), ordered)
        opened = [(pin, deb) for (pin, _), deb in zip(ordered, debs, strict=True)]
    for pin, deb in opened:
        require_pinned(pin, deb)
    return opened


class _Files:
    """Paths of a tree, each owned by one package."""

    def __init__(self, allowed: frozenset[str], below: Below | None = None) -> None:
        self.found: dict[str, Member] = {}
        self._allowed = allowed
        self._owner: dict[str, str] = {}
        self._debs: dict[str, tuple[OsPackagePin, DebFile]] = {}
        self._below = below or Below(members={})

    def unpack(self, pin: OsPackagePin, deb: DebFile) -> None:
        self._debs[pin.name] = (pin, deb)
        for member in deb.members:
            path = merged(member.path)
            if path == "." or path in MERGED or _EXCLUDED.fullmatch(path):
                continue
            require_admitted(member, pin)
            identity = f"{pin.name}:{member.identity}" if member.identity else ""
            moved = replace(member, path=path, identity=identity, mtime=min(member.mtime, EPOCH))
            placed = self._below.placed(moved)
            if not self._below.keeps(placed, pin, deb):
                self.add(placed, pin.name)

    def add(self, member: Member, owner: str) -> None:
        before = self.found.get(member.path)
        if before is None:
            self.found[member.path] = member
            self._owner[member.path] = owner
        elif before.kind is not Kind.FOLDER or member.kind is not Kind.FOLDER:
            if is_equal(before, member) or self._replaces(self._owner[member.path], owner):
                return
            if self._replaces(owner, self._owner[member.path]):
                self.found[member.path] = member
                self._owner[member.path] = owner
                return
            raise VerificationFailed(
                f"/{member.path} is in {self._owner[member.path]} and in {owner}",
                hint="remove one of them from `apt:`",
            )

    def _replaces(self, one: str, other: str) -> bool:
        """Return True if a package may replace files of another one."""
        if one not in self._debs or other not in self._debs:
            return False
        return replaces(self._debs[one][1], other, self._debs[other][0].version)

    def put(self, member: Member) -> None:
        self.found[member.path] = member

    def unpacked(self, opened: Iterable[tuple[OsPackagePin, DebFile]]) -> UnpackedTree:
        """Return the whole tree; set-user-ID and set-group-ID bits stay only where they are allowed."""
        plain = {path: unprivileged(member, self._allowed) for path, member in self._with_parents().items()}
        return UnpackedTree(
            members=tuple(plain.values()),
            unconfigured=_unconfigured(deb for _, deb in opened),
            cleared=tuple(sorted(path for path, member in plain.items() if member.mode != self.found[path].mode)),
        )

    def _with_parents(self) -> dict[str, Member]:
        for path in list(self.found):
            parent = path.rpartition("/")[0]
            while parent and parent not in self.found:
                self.found[parent] = _folder(parent)
                parent = parent.rpartition("/")[0]
            if parent and self.found[parent].kind is not Kind.FOLDER:
                raise VerificationFailed(
                    f"{self._owner.get(path, 'the base')} contains /{path}, but /{parent} is a file or a link of "
                    f"{self._owner.get(parent) or 'the base'}",
                    hint="remove one of them from `apt:`",
                )
        return self.found


def _folder(path: str, mode: int = 0o755) -> Member:
    return Member(path=path, kind=Kind.FOLDER, mode=mode, mtime=EPOCH)


def _configuration(found: dict[str, Member]) -> Iterator[Member]:
    """Yield the files that the scripts of Debian's base packages would create."""
    yield from _accounts(found)
    certificates = sorted(path for path in found if re.fullmatch(r"usr/share/ca-certificates/.*\.crt", path))
    if certificates:
        bundle = b"".join(found[path].read() for path in certificates)
        yield file_of("etc/ssl/certs/ca-certificates.crt", bundle, mtime=EPOCH)
    for target, source in _COPIES.items():
        if source in found:
            yield file_of(target, found[source].read(), mtime=EPOCH)
    yield from _alternatives(found)
    if "usr/share/zoneinfo/Etc/UTC" in found:
        target = "/usr/share/zoneinfo/Etc/UTC"
        yield Member(path="etc/localtime", kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target=target)
        yield file_of("etc/timezone", b"Etc/UTC\n", mtime=EPOCH)
    yield file_of("etc/machine-id", b"", mtime=EPOCH, mode=0o444)
    yield file_of("etc/shells", b"/bin/sh\n/bin/bash\n/usr/bin/bash\n/usr/bin/sh\n", mtime=EPOCH)
    yield file_of("etc/dpkg/dpkg.cfg.d/99envbuilder", "\n".join((*_DPKG_OPTIONS, "")).encode(), mtime=EPOCH)
    for path, mode in (("tmp", 0o1777), ("var/tmp", 0o1777), ("root", 0o700), ("run", 0o755), ("run/lock", 0o1777)):
        yield _folder(path, mode)
    for path in ("proc", "sys", "dev", "var/log/apt", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
        yield _folder(path)
    yield Member(path="var/run", kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target="/run")
    yield Member(path="var/lock", kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target="/run/lock")


def _alternatives(found: dict[str, Member]) -> Iterator[Member]:
    for name, (path, alternative, program) in _LINKS.items():
        if program in found:
            for place, target in ((path, alternative), (f"etc/alternatives/{name}", f"/{program}")):
                yield Member(path=place, kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target=target)


def _accounts(found: dict[str, Member]) -> Iterator[Member]:
    """Yield the users of base-passwd, with locked passwords."""
    masters = {name: found.get(f"usr/share/base-passwd/{name}.master") for name in ("passwd", "group")}
    if masters["passwd"] is None or masters["group"] is None:
        return
    passwd, group = masters["passwd"].read(), masters["group"].read()
    # Apt drops its privileges to a user that its script creates where base-passwd does not have it yet.
    day = EPOCH // 86400
    passwd = passwd.replace(b":*:", b":x:")
    if b"\n_apt:" not in passwd:
        passwd += b"_apt:x:100:65534::/nonexistent:/usr/sbin/nologin\n"
    names = [line.split(b":")[0] for line in passwd.splitlines()]
    shadow = b"".join(b"%s:*:%d:0:99999:7:::\n" % (name, day) for name in names)
    group = group.replace(b":*:", b":x:")
    gshadow = b"".join(b"%s:*::%s\n" % (line.split(b":")[0], line.split(b":")[3]) for line in group.splitlines())
    yield file_of("etc/passwd", passwd, mtime=EPOCH)
    yield file_of("etc/group", group, mtime=EPOCH)
    yield replace(file_of("etc/shadow", shadow, mtime=EPOCH, mode=0o640), gid=_SHADOW_GID)
    yield replace(file_of("etc/gshadow", gshadow, mtime=EPOCH, mode=0o640), gid=_SHADOW_GID)


def _database(opened: Iterable[tuple[OsPackagePin, DebFile]], *, before: bytes = b"") -> Iterator[Member]:
    """Yield the files of dpkg's database."""
    paragraphs = [before.decode("utf-8", "replace").strip("\n")] if before else []
    for pin, deb in opened:
        state = "unpacked" if _has_scripts(deb) else "installed"
        head, _, rest = deb.fields.partition("\n")
        paragraphs.append(f"{head}\nStatus: install ok {state}\n{rest}")
        name = _info_name(pin.name, deb.fields)
        paths = "".join(f"/{member.path}\n" if member.path != "." else "/.\n" for member in deb.members)
        yield file_of(f"var/lib/dpkg/info/{name}.list", paths.encode("utf-8", "surrogateescape"), mtime=EPOCH)
        for kind, content in sorted(deb.control.items()):
            if kind != "control":
                mode = 0o755 if kind in {"preinst", "postinst", "prerm", "postrm", "config"} else 0o644
                yield file_of(f"var/lib/dpkg/info/{name}.{kind}", content, mtime=EPOCH, mode=mode)
    yield file_of(_STATUS, ("\n\n".join(paragraphs) + "\n").encode(), mtime=EPOCH)
    if not before:
        yield file_of("var/lib/dpkg/available", b"", mtime=EPOCH)
        yield file_of("var/lib/dpkg/info/format", b"1\n", mtime=EPOCH)
        for path in ("updates", "triggers", "alternatives", "parts"):
            yield _folder(f"var/lib/dpkg/{path}")


def _info_name(name: str, fields: str) -> str:
    """Return the name of a package in dpkg's database: with the architecture for packages that allow several."""
    return f"{name}:amd64" if re.search(r"^Multi-Arch: same$", fields, re.MULTILINE) else name


def _has_scripts(deb: DebFile) -> bool:
    return any(name in deb.control for name in _SCRIPTS)


def _unconfigured(debs: Iterable[DebFile]) -> tuple[str, ...]:
    return tuple(sorted(deb.fields.partition("\n")[0].removeprefix("Package: ") for deb in debs if _has_scripts(deb)))
