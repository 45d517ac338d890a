"""Names of images, registries and distributions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envbuilder.core.digests import sha256_digest

_REPOSITORY = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(:(?P<port>[0-9]{1,5}))?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_REGISTRY = re.compile(
    r"(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
)
_LONGEST_REPOSITORY = 255
"""Source: https://github.com/distribution/reference/blob/main/reference.go, `NameTotalLengthMax`."""

_LARGEST_PORT = 65535
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*")
"""One part of the path of a repository. Source:
https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pulling-manifests"""

_LONGEST_COMPONENT = 128
_RESERVED = re.compile(r"base|proving-.*")
_RUN_OF_SEPARATORS = re.compile(r"[-_.]+")


def normalized(name: str) -> str:
    """Return the normalized name of a distribution.

    Raises:
        ValueError: It is not a distribution name.

    Source: https://packaging.python.org/en/latest/specifications/name-normalization/ (formerly PEP 503).

    Example:
        >>> normalized("Keras_Preprocessing")
        'keras-preprocessing'
    """
    if not _DISTRIBUTION.fullmatch(name):
        raise ValueError(f"{name!r} is not a distribution name")
    return _RUN_OF_SEPARATORS.sub("-", name).lower()


def image_name(text: str) -> str:
    """Return the name of an image below `envbuilder/`, unchanged.

    Raises:
        ValueError: It is not one part of a repository, or is reserved for envbuilder's own images.

    Example:
        >>> image_name("vision")
        'vision'
    """
    if not _COMPONENT.fullmatch(text) or len(text) > _LONGEST_COMPONENT:
        raise ValueError(
            f"{text!r} is not the name of an image: lower-case letters and digits, with single '.', '_' or '-' between"
        )
    if _RESERVED.fullmatch(text):
        raise ValueError(f"{text!r} is reserved for images that envbuilder creates internally")
    return text


def registry_address(text: str) -> str:
    """Return `HOST[:PORT]` of a registry, with a path if it mirrors other images below one, unchanged.

    Raises:
        ValueError: It is invalid. The message does not repeat credentials.

    Example:
        >>> registry_address("localhost:5000")
        'localhost:5000'
    """
    if "@" in text:
        raise ValueError("must be HOST[:PORT] without credentials: `docker login HOST` stores them")
    found = _REGISTRY.fullmatch(text)
    if found is None or int(found["port"] or 0) > _LARGEST_PORT:
        raise ValueError(f"{text[:80]!r} is not the address of a registry: must be HOST[:PORT]")
    return text


def registry_repository(text: str) -> str:
    """Return `HOST[:PORT]/NAME` of a repository of a registry, unchanged.

    Raises:
        ValueError: It is invalid, has no host, or has a tag or a digest. The message does not repeat credentials.

    Example:
        >>> registry_repository("localhost:5000/team/tf")
        'localhost:5000/team/tf'
    """
    if "@" in text:
        raise ValueError("must be HOST[:PORT]/NAME without credentials and digest: `docker login HOST` stores them")
    found = ImageRef.parse(text)
    if found.repository != text or found.with_registry() != found:
        raise ValueError(f"{text[:80]!r} is not a repository of a registry: must be HOST[:PORT]/NAME without a tag")
    return text


def repository_of(name: str) -> str:
    """Return the repository of an image that is built without a tag of its own."""
    return f"envbuilder/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRef:
    """Reference to an image: a repository with a tag, a digest, or both.

    Attributes:
        repository: Preceded by the registry's host if it is not the engine's default.
        tag: Empty if only the digest names the image.
        digest: `sha256:…`, or empty if only the tag names the image.

    Example:
        >>> str(ImageRef.parse("localhost:5000/team/tf:1"))
        'localhost:5000/team/tf:1'
    """

    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> ImageRef:
        """Parse `repository[:tag][@digest]`; a missing tag and digest mean the tag `latest`.

        Raises:
            ValueError: The text is not an image reference.
        """
        rest, at, digest = text.partition("@")
        if at:
            sha256_digest(digest)
        slash = rest.rfind("/")
        colon = rest.rfind(":")
        repository, tag = (rest[:colon], rest[colon + 1 :]) if colon > slash else (rest, "")
        named = _REPOSITORY.fullmatch(repository)
        if named is None or len(repository) > _LONGEST_REPOSITORY or int(named["port"] or 0) > _LARGEST_PORT:
            raise ValueError(f"{text[:80]!r} is not an image reference")
        if colon > slash and not _TAG.fullmatch(tag):
            raise ValueError(f"{tag[:80]!r} is not an image tag")
        return cls(repository=repository, tag=tag or ("" if digest else "latest"), digest=digest)

    def at_registry(self, registry: str) -> ImageRef:
        """Return the same image in a mirror, such as `localhost:5000`."""
        return ImageRef(repository=f"{registry}/{self.repository}", tag=self.tag, digest=self.digest)

    def with_registry(self) -> ImageRef:
        """Return the same image, with the host of Docker's default registry if the reference names none.

        Example:
            >>> str(ImageRef.parse("nvidia/cuda:11.0.3").with_registry())
            'docker.io/nvidia/cuda:11.0.3'
            >>> str(ImageRef.parse("debian:12").with_registry())
            'docker.io/library/debian:12'
        """
        first, slash, _ = self.repository.partition("/")
        if slash and ("." in first or ":" in first or first == "localhost"):
            return self
        return self.at_registry("docker.io" if slash else "docker.io/library")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.repository}{tag}{digest}"
