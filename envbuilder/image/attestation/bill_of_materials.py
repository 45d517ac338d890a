"""The bill of materials of an image, as CycloneDX: every pin of its lock, with hashes.

It depends on the lock alone: it contains no other time and no random number.

Source: https://cyclonedx.org/docs/1.6/json/; package URLs (pypi, deb, generic) follow
https://github.com/package-url/purl-spec. The qualifiers `distro` and `upstream` are those that scanners read
(https://github.com/anchore/syft/blob/main/syft/pkg/url.go): vulnerabilities are listed by release and source package.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from envbuilder.catalog.archives import ArchivePin
from envbuilder.catalog.environments import PythonProvider
from envbuilder.image.attestation.os_packages import DistributionRelease, release_of, source_of
from envbuilder.lock.lock import Lock, OsPackagePin, PackagePin

MEDIA_TYPE = "application/vnd.cyclonedx+json"
PREDICATE = "https://cyclonedx.org/bom"
"""Type of a signed bill. Source: https://github.com/in-toto/attestation/blob/main/spec/predicates/cyclonedx.md"""
_NAMESPACE = uuid.UUID("6f0a3e0c-5f0c-5d7e-9d55-0a5f0f3c1f6e")


def bill_of_materials(lock: Lock, digest: str) -> bytes:
    """Return the bill of materials of a lock, whose digest names the document."""
    components = list(_components(lock))
    bom = Bom(serial_number=uuid.uuid5(_NAMESPACE, digest), components=components)
    bom.metadata.timestamp = datetime.fromtimestamp(lock.epoch, tz=UTC)
    image = Component(
        name=lock.environment,
        version=lock.framework_version,
        type=ComponentType.CONTAINER,
        bom_ref="image",
        properties=[Property(name="io.envbuilder.lock", value=digest)],
    )
    bom.metadata.component = image
    bom.register_dependency(image, components)
    return JsonV1Dot6(bom).output_as_string(indent=1).encode() + b"\n"


def _components(lock: Lock) -> Iterator[Component]:
    yield Component(
        name=lock.base.image or lock.base.id,
        type=ComponentType.OPERATING_SYSTEM,
        bom_ref="base",
        hashes=[_hash(lock.base.digest.removeprefix("sha256:"))],
    )
    for os_package in (*lock.base.packages, *lock.os_packages):
        yield _os_package(os_package, release_of(lock.base))
    if lock.python.provider is PythonProvider.ARCHIVE:
        version = lock.python.version.text
        yield Component(
            name="cpython",
            version=version,
            type=ComponentType.APPLICATION,
            bom_ref=f"cpython@{version}",
            purl=PackageURL("generic", None, "cpython", version),
            hashes=[_hash(lock.python.sha256)],
        )
    for archive in lock.archives:
        yield _archive(archive)
    for package in lock.packages:
        if package.group.is_installed:
            yield _package(package)
    for file in lock.files:
        yield Component(
            name=file.path, type=ComponentType.FILE, bom_ref=f"file:{file.path}", hashes=[_hash(file.sha256)]
        )


def _archive(pin: ArchivePin) -> Component:
    return Component(
        name=pin.file,
        type=ComponentType.FILE,
        bom_ref=f"archive:{pin.id}",
        hashes=[_hash(pin.sha256)],
        properties=[Property(name="io.envbuilder.library", value=library.soname) for library in pin.libraries],
    )


def _package(pin: PackagePin) -> Component:
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"pypi:{pin.name}@{pin.version}",
        purl=PackageURL("pypi", None, pin.name, pin.version),
        hashes=[_hash(pin.sha256)],
        properties=[Property(name="io.envbuilder.file", value=pin.file)],
    )


def _os_package(pin: OsPackagePin, release: DistributionRelease) -> Component:
    source = source_of(pin)
    qualifiers = {
        "arch": "amd64",
        **({"distro": release.distro} if release.distro else {}),
        **({"upstream": source} if source != pin.name else {}),
    }
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"deb:{pin.name}@{pin.version}",
        purl=PackageURL("deb", release.name, pin.name, pin.version, qualifiers=qualifiers),
        hashes=[_hash(pin.sha256)] if pin.sha256 else [],
    )


def _hash(sha256: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=sha256)
