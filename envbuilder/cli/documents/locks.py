"""Documents of `show LOCK` and `show SPEC`."""

from __future__ import annotations

from typing import Literal, TypedDict

from envbuilder.catalog.environments import CudaProvider
from envbuilder.cli.documents.environments import ShownPython, Wheel
from envbuilder.lock.container_settings import ContainerSettings


class LockedBase(TypedDict):
    """The base of a lock."""

    id: str
    image: str
    digest: str


class LockedCuda(TypedDict):
    """The CUDA libraries of a lock."""

    provider: CudaProvider
    version: str
    cudnn: str
    driver: str
    require: str


class SpecCatalog(TypedDict):
    """A catalog that a spec is read with."""

    name: str
    commit: str | None


class LockedCatalog(SpecCatalog):
    """The catalog of a team that the environment of a lock is from."""

    digest: str


class SpecValue(TypedDict):
    """A value of a spec, with the file and the line that it is from."""

    field: str
    value: object
    file: str
    line: int


class ShownSpec(TypedDict):
    """`show SPEC`: the values of a spec and of those that it extends."""

    schema: Literal[1]
    spec: str
    files: list[str]
    catalogs: list[SpecCatalog]
    values: list[SpecValue]


class LockedArchive(TypedDict):
    """A vendor archive of a lock."""

    id: str
    publisher: str
    sonames: list[str]


class Memory(TypedDict):
    """A memory policy in words."""

    policy: str
    meaning: str


class LockedUser(TypedDict):
    """The user of an image."""

    name: str
    uid: int
    gid: int


class ShownLock(TypedDict):
    """`show LOCK`: the image that a lock describes."""

    schema: Literal[1]
    lock: str
    environment: str
    catalog: LockedCatalog | None
    tensorflow: Wheel
    base: LockedBase
    python: ShownPython
    cuda: LockedCuda | None
    archives: list[LockedArchive]
    memory: Memory
    user: LockedUser
    packages: dict[str, int]
    own_packages: list[str]
    os_packages: list[str]
    files: list[str]
    env: dict[str, str]
    settings: ContainerSettings
    deviations: list[str]
    refused: list[str]
    created: str
    image: str | None
    unpinned: list[str]
