"""Bootstrap a Debian tree with mmdebstrap: same packages, same bytes, on every machine."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.catalog.environments import BaseSystem
from envbuilder.core.errors import ToolFailed, ToolMissing, VerificationFailed
from envbuilder.image.base import dpkg
from envbuilder.image.base.cleaning import cleaned
from envbuilder.image.base.failures import bootstrap_failure, without_credentials
from envbuilder.image.base.privileges import is_privileged
from envbuilder.image.base.programs import Host, Run
from envbuilder.image.base.trees import DebianTree
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.tar import writing as tarball
from envbuilder.oci.tar.members import Member, of_tar

# What apt and the shell tools look for. Maintainer scripts see the environment, so nothing else is passed on.
_PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)

# Archives and snapshots have an index past its date; its signature is checked all the same.
_EXPIRED = 'Acquire::Check-Valid-Until "false"'
_CODENAME = re.compile(r"^VERSION_CODENAME=([a-z]+)$", re.MULTILINE)
_OS_RELEASE = "usr/lib/os-release"

# The order matters to dpkg: the last pattern that fits decides.
_DPKG_OPTIONS = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-include=/usr/share/locale/locale.alias",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapArchive:
    """The Debian archive that mmdebstrap uses.

    Attributes:
        mirror: Its address, which may hold credentials; empty lets mmdebstrap take its own default, which adds updates
            and security updates for stable suites.
        keyring: File with its keys; empty for those that apt of this host trusts.
        allow_expired: Take a suite whose time is over.
    """

    mirror: str = ""
    keyring: str = ""
    allow_expired: bool = False


def bootstrap(system: BaseSystem, archive: BootstrapArchive, *, epoch: int, work: Path, host: Host) -> DebianTree:
    """Make the tree of a Debian base.

    The tree does not depend on who makes it: host name, resolver, mirror address, logs, caches and device nodes are
    left out, time stamps are at most `epoch`, and the tar is written by us, not by the tar program of this host.
    dpkg keeps the configuration that leaves out manuals and translations; apt keeps none of ours.

    Args:
        system: Row of the catalog, of kind `debian`.
        archive: Where the packages are.
        epoch: Seconds since 1970.
        work: Folder for the tar; needs about twice its size while it is made.
        host: Where it is made: as root with chroot and mount, otherwise with user namespaces. Of its environment only
            `PATH`, `HOME`, `TMPDIR` and the proxy settings are passed on.

    Returns:
        The tree as `work/<id>.tar`, which appears only when it is complete.

    Raises:
        VerificationFailed: The archive is not signed by the keys, its time is over, or it has another suite.
        ToolMissing: mmdebstrap is not installed.
        ToolFailed: mmdebstrap failed for a reason on this machine.
        SourceUnreachable: The mirror does not answer or does not have the suite or a package.
        DiskFull: There is no room for the tree.

    Source:
        Options and what has to be left out: measured with mmdebstrap 1.3.5 as root and unshared, with other host name,
        umask, time zone and folder, 2026-11.
    """
    settings = _environment(host.environ, epoch)
    version = _version(host.run, settings, work)
    with tempfile.TemporaryDirectory(dir=work, prefix=f".{system.id}-") as scratch:
        raw = Path(scratch) / "raw.tar"
        _fill(raw, system, archive, host=replace(host, environ=settings))
        found = of_tar(raw)
        members = cleaned(found, epoch=epoch)
        _refuse_another_suite(members, system)
        packages = _packages(members)
        glibc = dpkg.upstream(packages, "libc6")
        if glibc is None:
            raise ToolFailed(f"mmdebstrap made {system.id} without a C library", hint="check matrices/bases.yaml")
        written = tarball.write(members, work / f"{system.id}.tar")
    return DebianTree(
        id=system.id,
        path=written.path,
        digest=f"sha256:{written.sha256}",
        size=written.size,
        suite=system.suite,
        packages=packages,
        python=dpkg.upstream(packages, "python3"),
        glibc=glibc,
        mmdebstrap=version,
        cleared=tuple(sorted(member.path for member in found if is_privileged(member))),
    )


def _fill(raw: Path, system: BaseSystem, archive: BootstrapArchive, *, host: Host) -> None:
    """Let mmdebstrap write its own tar."""
    mirror = archive.mirror
    command = _command(system, raw, archive, mode="root" if host.as_root else "unshare")
    ran = host.run(
        command,
        environ=host.environ,
        folder=raw.parent,
        on_line=lambda line: host.listener(without_credentials(line, mirror)),
    )
    if ran.status:
        raise bootstrap_failure(system, ran, mirror=mirror)


def _refuse_another_suite(members: Iterable[Member], system: BaseSystem) -> None:
    """Raise if the tree says that it is of another suite: apt only warns when an archive answers with one."""
    told = next((member for member in members if member.path == _OS_RELEASE), None)
    name = _CODENAME.search(told.read().decode("utf-8", "replace")) if told else None
    if name and name[1] != system.suite:
        raise VerificationFailed(
            f"the archive answers with {name[1]} where {system.suite} was asked for",
            hint="name another mirror: --debian-mirror URL",
        )


def _packages(members: Iterable[Member]) -> tuple[OsPackagePin, ...]:
    status = next((member for member in members if member.path == dpkg.STATUS), None)
    return dpkg.installed(status.read().decode()) if status else ()


def _environment(environ: Mapping[str, str], epoch: int) -> dict[str, str]:
    passed = {name: environ[name] for name in _PASSED_ON if name in environ}
    # The hash seed decides the order of sets in the bytecode that the interpreter's own package compiles.
    return passed | {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}


def _version(run: Run, settings: Mapping[str, str], work: Path) -> str:
    try:
        ran = run(["mmdebstrap", "--version"], environ=settings, folder=work)
    except OSError as error:
        raise ToolMissing(
            f"a Debian base is made with mmdebstrap, which cannot be started: {error.strerror}",
            hint="apt-get install mmdebstrap",
        ) from error
    return ran.stdout.strip().rpartition(" ")[2]


def _command(system: BaseSystem, tar: Path, archive: BootstrapArchive, *, mode: str) -> list[str]:
    return [
        "mmdebstrap",
        "--variant=minbase",
        f"--mode={mode}",
        "--format=tar",
        "--architectures=amd64",
        f"--components={','.join(system.components)}",
        f"--include={','.join(system.packages)}",
        # Engines make their own /dev, and a rootless one may not unpack device nodes.
        "--skip=output/dev",
        *([f"--aptopt={_EXPIRED}"] if archive.allow_expired else []),
        *([f"--keyring={archive.keyring}"] if archive.keyring else []),
        *(f"--dpkgopt={option}" for option in _DPKG_OPTIONS),
        "--",
        system.suite,
        str(tar),
        *([archive.mirror] if archive.mirror else []),
    ]
