"""Decoder of `envbuilder.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import At, Entries, Parsed
from envbuilder.core.field_types import exactly
from envbuilder.core.image_paths import ImagePath
from envbuilder.core.names import account_name
from envbuilder.core.yaml.documents import ParsedDocument
from envbuilder.core.yaml.structured import structured
from envbuilder.lock.container_settings import DEFAULT_USER, AccountId, User
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.spec_values import Spec

SPEC_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    name: Annotated[str, Parsed(account_name)] = DEFAULT_USER.name
    uid: AccountId = DEFAULT_USER.uid
    gid: AccountId = DEFAULT_USER.gid


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDocument:
    """Content of `envbuilder.yaml`."""

    schema: Annotated[int, exactly(SPEC_SCHEMA)] = SPEC_SCHEMA
    spec: Annotated[Spec, At()]
    files: Annotated[tuple[tuple[ImagePath, str], ...], Entries(ordered=True)] = ()
    user: _Account = _Account()
    accept_nvidia_eula: bool = False


def decoded(document: ParsedDocument, file: str) -> Spec:
    """Return the spec of a document.

    Raises:
        InvalidInput: With every fault.
    """
    found = structured(SpecDocument, document, file, check=_contradictions)
    return replace(
        found.spec,
        files=tuple(OwnFile(path=path, source=source) for path, source in found.files),
        sources=replace(found.spec.sources, accept_nvidia_eula=found.accept_nvidia_eula),
        user=User(name=found.user.name, uid=found.user.uid, gid=found.user.gid),
    )


def _contradictions(document: SpecDocument) -> Iterator[Mismatch]:
    """Yield contradictions between fields of a spec that are valid by themselves."""
    spec = document.spec
    for name, given in (("build_tools", spec.build_tools), ("build_requires", spec.build_requires)):
        if given and not spec.source_builds:
            problem = "is for packages under `source_builds:`, and there are none"
            yield Mismatch(path=(name,), problem=problem, hint="list the packages to build under `source_builds:`")


def with_sources(spec: Spec, named: Sources) -> Spec:
    """Return the spec with the command line's sources in place of its own; interpreters are put before its own."""
    own = spec.sources
    merged = Sources(
        registry_mirror=named.registry_mirror or own.registry_mirror,
        mirror=named.mirror or own.mirror,
        debian_mirrors=named.debian_mirrors or own.debian_mirrors,
        debian_keyring=named.debian_keyring,
        debian_allow_expired=named.debian_allow_expired or own.debian_allow_expired,
        ubuntu_mirrors=named.ubuntu_mirrors or own.ubuntu_mirrors,
        ubuntu_keyring=named.ubuntu_keyring,
        ubuntu_allow_expired=named.ubuntu_allow_expired or own.ubuntu_allow_expired,
        index=named.index or own.index,
        python_archives=(*named.python_archives, *own.python_archives),
        layer_caches=named.layer_caches or own.layer_caches,
        publishers=tuple(sorted({**dict(own.publishers), **dict(named.publishers)}.items())),
        accept_nvidia_eula=named.accept_nvidia_eula or own.accept_nvidia_eula,
    )
    return replace(spec, sources=merged)
