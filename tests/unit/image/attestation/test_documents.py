"""The documents about an image name everything in it, and are the same whenever they are written."""

from __future__ import annotations

import json

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.image.attest import attached
from envbuilder.image.attestation.bill_of_materials import bill_of_materials
from envbuilder.image.attestation.provenance import provenance
from envbuilder.lock.lock import PackageGroup
from envbuilder.lock.lockfile import digest
from envbuilder.oci.documents import document
from envbuilder.oci.images import MANIFEST_TYPE, Descriptor, LayerFormat
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import pin_of, with_archives

LOCK = good_lock()
SUBJECT = Descriptor(media_type=MANIFEST_TYPE, digest="sha256:" + "ab" * 32, size=7)


def test_the_bill_names_every_package_with_its_hash() -> None:
    bill = json.loads(bill_of_materials(LOCK, digest(LOCK)))
    named = {component.get("purl", component["name"]): component for component in bill["components"]}
    for pin in LOCK.packages:
        if pin.group is not PackageGroup.BUILD:
            component = named[f"pkg:pypi/{pin.name}@{pin.version}"]
            assert component["hashes"] == [{"alg": "SHA-256", "content": pin.sha256}]
    assert bill["metadata"]["component"]["name"] == LOCK.environment


def test_the_bill_is_valid_and_always_the_same() -> None:
    # It imports jsonschema, which takes seconds that only this test is to cost.
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    bill = bill_of_materials(LOCK, digest(LOCK))
    assert bill == bill_of_materials(LOCK, digest(LOCK))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.decode()) is None


def test_the_statement_is_about_the_image_and_names_what_went_into_it() -> None:
    statement = json.loads(provenance(LOCK, digest(LOCK), SUBJECT.digest, LayerFormat.GZIP_SPLICED, "1"))
    assert statement["subject"][0]["digest"] == {"sha256": "ab" * 32}
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["lock"] == digest(LOCK)
    hashes = {each["digest"]["sha256"] for each in definition["resolvedDependencies"]}
    assert {pin.sha256 for pin in LOCK.packages} <= hashes


def test_a_document_is_attached_by_a_manifest_that_refers_to_the_image() -> None:
    manifest, held = attached(document("application/x", b"{}\n"), "x.json", SUBJECT, "2024-01-01T00:00:00Z")
    read = json.loads(manifest.content)
    assert read["subject"]["digest"] == SUBJECT.digest
    assert read["artifactType"] == "application/x"
    assert read["layers"][0]["digest"] == held.descriptor.digest
    assert read["layers"][0]["annotations"] == {"org.opencontainers.image.title": "x.json"}


def test_both_documents_name_vendor_archives_with_their_hashes() -> None:
    pin = pin_of(b"archive", ArchiveFormat.TAR_GZIP)
    lock = with_archives(LOCK, pin)
    bill = json.loads(bill_of_materials(lock, digest(lock)))
    [component] = [each for each in bill["components"] if each["name"] == pin.file]
    assert component["hashes"] == [{"alg": "SHA-256", "content": pin.sha256}]
    assert [each["value"] for each in component["properties"]] == ["libx.so.9.0", "liby.so.9.0"]
    statement = json.loads(provenance(lock, digest(lock), SUBJECT.digest, LayerFormat.GZIP_SPLICED, "1"))
    dependencies = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert {"name": pin.file, "digest": {"sha256": pin.sha256}} in dependencies
