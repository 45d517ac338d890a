"""Shared libraries that a base provides."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envbuilder.oci.tar.members import Kind, Member

_FOLDERS = frozenset(
    {"lib", "usr/lib", "lib64", "usr/lib64", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/local/lib"}
)
"""Default directories of the loader on Debian and Ubuntu."""

_LIBRARY = re.compile(r"(?:lib|ld-)[^/]*\.so(?:\.[^/]*)?")
_CONFIGURED = re.compile(r"etc/ld\.so\.conf\.d/[^/]+\.conf")

PACKAGES = {
    "libatomic.so.1": "libatomic1",
    "libexpat.so.1": "libexpat1",
    "libgcc_s.so.1": "libgcc-s1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgl.so.1": "libgl1",
    "libGL.so.1": "libgl1",
    "libgomp.so.1": "libgomp1",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libnuma.so.1": "libnuma1",
    "libquadmath.so.0": "libquadmath0",
    "libsm.so.6": "libsm6",
    "libstdc++.so.6": "libstdc++6",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libz.so.1": "zlib1g",
}
"""The Debian package of each library that wheels often need without declaring it.

Source: Debian bookworm, package pages and `dpkg -S`, 2026-11. To add one: `dpkg -S SONAME` on a machine that has it.
"""


def provided(members: Iterable[Member]) -> frozenset[str]:
    """Return the names of the libraries in the default and the configured directories of the loader of a tree."""
    everything = tuple(members)
    folders = _FOLDERS | {
        line.strip().strip("/")
        for member in everything
        if member.kind is Kind.FILE and _CONFIGURED.fullmatch(member.path)
        for line in member.read().decode("utf-8", "replace").splitlines()
        if line.strip().startswith("/")
    }
    return frozenset(
        name
        for member in everything
        if member.kind in {Kind.FILE, Kind.SYMLINK}
        for folder, _, name in (member.path.rpartition("/"),)
        if folder in folders and _LIBRARY.fullmatch(name)
    )
