"""Decoders of facts outside the rows: standalone Keras, and NVIDIA's own builds of TensorFlow."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envbuilder.catalog.field_types import version_range
from envbuilder.catalog.keras import KerasFacts, KerasRule
from envbuilder.catalog.load.tables import read_sources
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.yaml.fields import Fields


def read_keras(root: Fields) -> KerasFacts:
    """Decode `keras.yaml`: the releases of Keras, and their compatibility with TensorFlow."""
    releases = root.texts("releases", _version, required=True)
    if list(releases) != sorted(set(releases)):
        root.fault("releases", "must be in ascending order, each once")
    rules = tuple(_rule(each, releases) for each in root.children("rules", required=True))
    return KerasFacts(releases=releases, rules=rules)


def _rule(fields: Fields, releases: tuple[Version, ...]) -> KerasRule:
    keras = fields.value("keras", version_range, fallback=SpecifierSet())
    if releases and not any(release in keras for release in releases):
        fields.fault("keras", "is about none of the releases above")
    return KerasRule(
        tensorflow=fields.value("tensorflow", version_range, fallback=SpecifierSet()),
        keras=keras,
        works=fields.flag("works", default=False),
        reason=fields.text("reason"),
        sources=read_sources(fields),
    )


def read_vendor_builds(root: Fields) -> tuple[VendorBuild, ...]:
    """Decode `vendor-builds.yaml`: NVIDIA's own containers with TensorFlow."""
    return tuple(
        VendorBuild(
            name=each.text("name"),
            tensorflow=each.release("tensorflow"),
            python=each.release("python"),
            oldest=each.release("oldest"),
            newest=each.release("newest"),
            what=each.text("what"),
            sources=read_sources(each),
        )
        for each in root.children("builds", required=True)
    )


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise ValueError(f"{text!r} is not a version") from error
