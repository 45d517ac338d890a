"""Resolver of OS packages that runs the base's own apt."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from envbuilder.core.errors import ResolutionFailed, SourceUnreachable
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.runtime.command import RunRequest, RunResult

_URI_LINE = re.compile(r"^'(?P<uri>[^']+)' (?P<file>\S+)_(?P<version>[^_]+)_\S+\.deb \d+(?: (?P<hash>\S+))?$")
_SCRIPT = """set -eu
export DEBIAN_FRONTEND=noninteractive
if [ -s /tmp/envbuilder-ca.pem ]; then set -- -o Acquire::https::CaInfo=/tmp/envbuilder-ca.pem "$@"; fi
apt-get "$@" update >&2
apt-get "$@" -o Acquire::ForceHash=SHA256 install --yes --no-install-recommends --allow-downgrades --print-uris $WANTED
"""
_TIME_LIMIT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AptResolver:
    """Resolver that runs apt in a temporary container of the base.

    Attributes:
        ca_bundle: CA bundle of this host; empty if it has none of its own.
        proxies: Proxy variables, sorted by name.
    """

    run: Callable[[RunRequest], RunResult]
    ca_bundle: bytes = b""
    proxies: tuple[tuple[str, str], ...] = ()

    def resolve(self, image: str, packages: tuple[str, ...]) -> tuple[OsPackagePin, ...]:
        """Return the packages that apt would download to install these.

        Args:
            image: The base, as the engine names it.
            packages: `name` or `name=version`.

        Returns:
            Sorted by name, without packages that the base already has.

        Raises:
            ResolutionFailed: apt finds no such package, or reports no sha256.
            SourceUnreachable: The archive does not respond.
        """
        result = self.run(
            RunRequest(
                image=image,
                command=("/bin/sh", "-c", _SCRIPT, "sh"),
                files=(("/tmp/envbuilder-ca.pem", self.ca_bundle),),  # noqa: S108  in the container
                env=tuple(sorted((("WANTED", " ".join(packages)), *self.proxies))),
                network="host",
                user="root",
                timeout=_TIME_LIMIT,
            )
        )
        if result.status:
            raise _failure(result, packages)
        lines = result.stdout.decode(errors="replace").splitlines()
        return tuple(sorted((_pin(line) for line in lines if line.startswith("'")), key=lambda pin: pin.name))


def _pin(line: str) -> OsPackagePin:
    match = _URI_LINE.match(line.strip())
    kind, _, digest = (match["hash"] or "").partition(":") if match else ("", "", "")
    if match is None or kind != "SHA256":
        raise ResolutionFailed(
            f"apt lists no sha256 for an OS package: {line}", hint="use a base whose apt is 1.6 or later"
        )
    return OsPackagePin(name=match["file"], version=unquote(match["version"]), sha256=digest)


def _failure(result: RunResult, packages: tuple[str, ...]) -> ResolutionFailed | SourceUnreachable:
    output = "\n".join(result.stderr.decode(errors="replace").splitlines()[-8:])
    if "Unable to locate package" in output or "has no installation candidate" in output or "was not found" in output:
        return ResolutionFailed(
            f"apt cannot install all of {', '.join(packages)}:\n{output}", hint="check `apt:` in envbuilder.yaml"
        )
    return SourceUnreachable(
        f"the OS packages {', '.join(packages)} cannot be looked up:\n{output}",
        hint="check the network; apt in the base uses the archives that the base is configured for",
    )
