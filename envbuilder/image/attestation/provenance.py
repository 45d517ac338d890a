"""The provenance of an image: an in-toto statement with SLSA provenance.

Like the bill of materials it depends on the lock alone: it does not contain the time or place of the build.

Source: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.core.canonical_json import indented_json
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import LayerFormat

MEDIA_TYPE = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:envbuilder:assemble:v1"


def provenance(lock: Lock, digest: str, manifest: str, layer_format: LayerFormat, version: str) -> bytes:
    """Return the provenance statement of the image with a manifest, made from the lock with a digest."""
    predicate = {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {"lock": digest, "format": layer_format.value},
            "internalParameters": {"plan": version},
            "resolvedDependencies": list(_dependencies(lock)),
        },
        "runDetails": {"builder": {"id": _BUILD_TYPE}},
    }
    return statement(lock.environment, manifest, PREDICATE, predicate)


def statement(name: str, manifest: str, predicate_type: str, predicate: object) -> bytes:
    """Return an in-toto statement about the image with a manifest."""
    subject = [{"name": name, "digest": _digest(manifest)}]
    return indented_json(
        {"_type": _STATEMENT, "subject": subject, "predicateType": predicate_type, "predicate": predicate}
    )


def _dependencies(lock: Lock) -> Iterator[dict[str, object]]:
    yield {"name": lock.base.image or lock.base.id, "digest": _digest(lock.base.digest)}
    for os_package in lock.all_os_packages:
        if os_package.sha256:
            yield {"name": f"{os_package.name}={os_package.version}", "digest": {"sha256": os_package.sha256}}
    if lock.python.sha256:
        yield {"name": lock.python.file, "digest": {"sha256": lock.python.sha256}}
    for archive in lock.archives:
        yield {"name": archive.file, "digest": {"sha256": archive.sha256}}
    for pin in lock.packages:
        yield {"name": pin.file, "digest": {"sha256": pin.sha256}}
    for tool in lock.tools:
        yield {"name": tool.name, "digest": {"sha256": tool.sha256}}


def _digest(digest: str) -> dict[str, str]:
    return {"sha256": digest.removeprefix("sha256:")}
