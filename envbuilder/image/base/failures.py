"""Why mmdebstrap failed, in words, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.catalog.environments import BaseSystem
from envbuilder.core.errors import DiskFull, EnvbuilderError, SourceUnreachable, ToolFailed, VerificationFailed
from envbuilder.image.base.programs import Ran

_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_SHOWN_LINES = 12

Failure: TypeAlias = type[DiskFull] | type[SourceUnreachable] | type[ToolFailed] | type[VerificationFailed]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signature:
    pattern: str
    failure: Failure
    reason: str
    hint: str


# The first that fits decides, so what explains the others stands above them: a full disk also breaks signatures.
_SIGNATURES = (
    _Signature(
        pattern=r"No space left on device|Disk quota exceeded",
        failure=DiskFull,
        reason="the disk is full",
        hint="free about 1 GB in the cache folder and in TMPDIR, then try again",
    ),
    _Signature(
        pattern=r"does not have a Release file|404 +Not Found|not recognised as a suite|no mirror for suite",
        failure=SourceUnreachable,
        reason="the mirror does not have suite {suite}",
        hint="check the suite in matrices/bases.yaml; suites out of support move to the archive: name another "
        "mirror under sources.debian_mirror in the spec",
    ),
    _Signature(
        pattern=r"Could not resolve|Temporary failure resolving|Could not connect|Connection (failed|refused|timed out)"
        r"|Unable to connect|Certificate verification failed|Could not handshake|Failed to fetch",
        failure=SourceUnreachable,
        reason="the mirror does not answer",
        hint="check the network and the proxy settings of apt, or name a mirror under "
        "sources.debian_mirror in the spec",
    ),
    _Signature(
        pattern=r"Unable to locate package|has no installation candidate",
        failure=SourceUnreachable,
        reason="the mirror does not have one of the packages",
        hint="check the packages and components of the base in matrices/bases.yaml",
    ),
    _Signature(
        pattern=r"signatures were invalid|BADSIG|EXPKEYSIG|REVKEYSIG|EXPSIG",
        failure=VerificationFailed,
        reason="the suite is not signed by keys that are valid now",
        hint="name another mirror: --debian-mirror URL",
    ),
    _Signature(
        pattern=r"Release file for .* is (expired|not valid yet)",
        failure=VerificationFailed,
        reason="the time of the suite is over, or the clock of this machine is wrong",
        hint="check the clock; name another mirror: --debian-mirror URL; for an archived suite or a snapshot: "
        "--debian-allow-expired",
    ),
    _Signature(
        pattern=r"NO_PUBKEY|is not signed|keyring.*(not exist|missing)",
        failure=ToolFailed,
        reason="this host does not have the keys of the suite",
        hint="`apt-get install debian-archive-keyring`, or name them: --debian-keyring FILE",
    ),
    _Signature(
        pattern=r"Operation not permitted|Permission denied|newuidmap|newgidmap|subuid|unshare|cannot (chroot|mount)"
        r"|must be run as root|insufficient privileges",
        failure=ToolFailed,
        reason="this account may not make a root file system",
        hint="run as root, or allow user namespaces: apt-get install uidmap, and give the account a range in "
        "/etc/subuid and /etc/subgid",
    ),
)
_UNKNOWN = _Signature(
    pattern="",
    failure=ToolFailed,
    reason="mmdebstrap ended with status {status}",
    hint="the lines above are the end of its log",
)


def without_credentials(text: str, mirror: str = "") -> str:
    """The text with `user:password@` taken out of every address.

    Args:
        text: Any text.
        mirror: An address that is known to hold credentials, should they look different from what is expected.

    Example:
        >>> without_credentials("Err:1 https://ann:secret@mirror/debian")
        'Err:1 https://***@mirror/debian'
    """
    scheme, _, rest = mirror.partition("://")
    account, at, place = rest.rpartition("@")
    known = text.replace(mirror, f"{scheme}://***@{place}") if at and account else text
    return _CREDENTIALS.sub("***@", known)


def bootstrap_failure(system: BaseSystem, ran: Ran, *, mirror: str) -> EnvbuilderError:
    """The error for a run of mmdebstrap that did not end well, with the last lines of its log."""
    log = [without_credentials(line, mirror) for line in ran.tail]
    text = "\n".join(log)
    found = next((one for one in _SIGNATURES if re.search(one.pattern, text)), _UNKNOWN)
    reason = found.reason.format(suite=system.suite, status=ran.status)
    shown = "\n".join(f"  {line}" for line in log[-_SHOWN_LINES:])
    return found.failure(f"cannot make {system.id}: {reason}\n{shown}", hint=found.hint)
