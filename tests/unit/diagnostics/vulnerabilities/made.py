"""Documents in the OSV schema that are made for tests; none is about a real vulnerability."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin, PackageGroup, PackagePin
from tests.fakes.catalogs import good_lock

WORST = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"
"""9.8, critical."""


def osv(
    name: str,
    *,
    package: str = "protobuf",
    ecosystem: str = "PyPI",
    events: tuple[dict[str, str], ...] = ({"introduced": "0"},),
    **more: object,
) -> dict[str, object]:
    """Return a document about one package."""
    affected = {
        "package": {"ecosystem": ecosystem, "name": package},
        "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
    }
    return {
        "schema_version": "1.7.0",
        "id": name,
        "modified": "2026-11-20T00:00:00Z",
        "affected": [affected],
        **more,
    }


def until(version: str) -> tuple[dict[str, str], ...]:
    """Return the events of a vulnerability that is in every version before one."""
    return ({"introduced": "0"}, {"fixed": version})


def directory(folder: Path, *documents: dict[str, object]) -> Path:
    """Write a database as a directory."""
    folder.mkdir(exist_ok=True)
    for document in documents:
        (folder / f"{document['id']}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def pin(name: str, version: str, group: PackageGroup = PackageGroup.PACKAGES) -> PackagePin:
    """Return a Python package of a lock."""
    return PackagePin(
        name=name, version=version, group=group, file=f"{name}-{version}-py3-none-any.whl", sha256="0" * 64
    )


def os_pin(name: str, version: str, file: str = "") -> OsPackagePin:
    """Return an OS package of a lock; `file` is its path below `pool/main`."""
    return OsPackagePin(name=name, version=version, sha256="0" * 64, file=f"pool/main/{file}" if file else "")


BOOKWORM = (
    os_pin("libc6", "2.36-9+deb12u3", "g/glibc/libc6_2.36-9+deb12u3_amd64.deb"),
    os_pin("libc-bin", "2.36-9+deb12u3+b1", "g/glibc/libc-bin_2.36-9+deb12u3+b1_amd64.deb"),
)


def lock_of(*packages: PackagePin, base: tuple[OsPackagePin, ...] = BOOKWORM) -> Lock:
    """Return a lock of tf-2.4-cuda11.0 on Debian 12 with these packages."""
    system = BasePin(
        id="debian-bookworm", kind=BaseKind.DEBIAN, image="", digest=good_lock().base.digest, packages=base
    )
    return replace(good_lock(), base=system, os_packages=(), files=(), packages=packages)
