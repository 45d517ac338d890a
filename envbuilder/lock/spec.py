"""Decoder of `envbuilder.yaml`."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import Version

from envbuilder.core.image_paths import allowable
from envbuilder.core.references import image_name, normalized, registry_address
from envbuilder.core.yaml.fields import Fields, Reader
from envbuilder.core.yaml.image_paths import image_path
from envbuilder.core.yaml.memory_policy import memory_policy
from envbuilder.core.yaml.requirements import os_package, pep440, requirement, requirement_name
from envbuilder.lock.image_settings import account, variables
from envbuilder.lock.resolve.tensorflow_distributions import OTHER_BUILDS
from envbuilder.lock.spec_values import DEFAULT_USER, OwnFile, Sources, Spec

SPEC_SCHEMA = 1


def read_spec(text: str, file: str) -> Spec:
    """Read a spec.

    Args:
        text: The document.
        file: Its path, for the faults.

    Raises:
        InvalidInput: With every fault.
    """
    reader = Reader(file)
    root = reader.document(text)
    if root.integer("schema", SPEC_SCHEMA) != SPEC_SCHEMA:
        root.fault("schema", f"must be {SPEC_SCHEMA}")
    spec = Spec(
        environment=root.text("environment"),
        packages=tuple(sorted(root.texts("packages", _own_package))),
        apt=tuple(sorted(root.texts("apt", os_package))),
        source_builds=tuple(sorted(root.texts("source_builds", normalized))),
        cutoff=root.day("cutoff") if root.has("cutoff") else None,
        tensorflow=root.value("tensorflow", pep440, fallback=Version("0")) if root.has("tensorflow") else None,
        python=root.release("python") if root.has("python") else None,
        base=root.text("base", ""),
        env=variables(root, "env"),
        files=_files(root),
        allow=tuple(sorted(root.texts("allow", allowable))),
        user=account(root.child("user"), DEFAULT_USER) if root.has("user") else DEFAULT_USER,
        memory=memory_policy(root, "memory"),
        sources=_sources(root.child("sources")) if root.has("sources") else Sources(),
        name=root.value("name", image_name, fallback="") if root.has("name") else "",
    )
    reader.finish()
    return spec


def _own_package(text: str) -> str:
    name = requirement_name(requirement(text))
    if name in OTHER_BUILDS:
        raise ValueError(
            f"{name} is another build of TensorFlow: an image contains only that of its environment (remove it; "
            "`tensorflow:` selects a patch release)"
        )
    return text


def _files(root: Fields) -> tuple[OwnFile, ...]:
    files = []
    for path, source in root.pairs("files", str):
        try:
            files.append(OwnFile(path=image_path(path), source=source))
        except ValueError as error:
            root.fault_at(f"files.{path}", str(error))
    return tuple(sorted(files, key=lambda file: file.path))


def _sources(fields: Fields) -> Sources:
    return Sources(
        registry_mirror=fields.value("registry_mirror", registry_address, fallback="", default=""),
        debian_mirror=fields.text("debian_mirror", ""),
        debian_allow_expired=fields.flag("debian_allow_expired", default=False),
        index=fields.text("index", ""),
        python_archives=fields.texts("python_archives", str),
    )


def with_sources(spec: Spec, named: Sources) -> Spec:
    """Return the spec with the command line's sources in place of its own; archives are put before its own."""
    own = spec.sources
    merged = Sources(
        registry_mirror=named.registry_mirror or own.registry_mirror,
        debian_mirror=named.debian_mirror or own.debian_mirror,
        debian_keyring=named.debian_keyring,
        debian_allow_expired=named.debian_allow_expired or own.debian_allow_expired,
        index=named.index or own.index,
        python_archives=(*named.python_archives, *own.python_archives),
    )
    return replace(spec, sources=merged)
