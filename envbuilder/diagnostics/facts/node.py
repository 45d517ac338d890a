"""Facts of a machine: interpreter, resources, and as a node of a cluster directories, namespaces, network, clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from envbuilder.core.field_rules import At
from envbuilder.core.observation import NOT_ASKED, Fact
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.hardware import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """The interpreter.

    Attributes:
        version: Three numbers.
        implementation: `CPython`.
        glibc: The C library in use; None when it is not glibc.
        machine: Such as `x86_64`.
        uid: User that it ran as.
        ld_library_path: As the process got it.
    """

    version: Release
    implementation: str
    executable: str
    glibc: Release | None
    machine: str
    uid: int
    ld_library_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The resources that the machine gives to the process.

    Attributes:
        cpu: Model name; may be empty.
        avx: None if unknown, as for the other instruction sets.
        memory: Bytes; None when unknown.
        memory_limit: Bytes that the control group allows; None without limit.
        shm: Bytes of /dev/shm; None without it.
        avx512f: The first part of AVX-512.
    """

    cpu: Annotated[str, At("cpu", "model")]
    avx: Annotated[bool | None, At("cpu", "avx")]
    avx2: Annotated[bool | None, At("cpu", "avx2")]
    fma: Annotated[bool | None, At("cpu", "fma")]
    memory: Annotated[int | None, At("memory", "total")]
    memory_limit: Annotated[int | None, At("memory", "limit")]
    shm: int | None
    kernel: str
    avx512f: Annotated[bool | None, At("cpu", "avx512f")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A directory that jobs write to.

    Attributes:
        type: Type of its file system, such as `nfs4`; empty if unknown.
        options: Options of its mount that matter here, such as `ro` or `nolock`, sorted.
        writable: Whether a file could be created in it; for `/`, whether it is not mounted read-only.
        error: Name of the error otherwise, such as `EROFS`.
        locks: Whether a file in it could be locked with `flock`; None if that was not tried.
        lock_error: Name of the error otherwise, such as `ENOLCK`.
        owner: User id that the server gave to the created file; None without one.
    """

    path: str
    type: str
    options: tuple[str, ...]
    writable: bool
    error: str
    locks: bool | None
    lock_error: str
    owner: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDirectory:
    """A directory by its role.

    Attributes:
        role: `home`, `root` (the root file system) or `temporary`.
        state: Its state; unseen if its file system did not answer.
    """

    role: str
    state: Fact[Directory] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNamespaces:
    """User namespaces, which containers without root privileges need.

    Attributes:
        works: Whether this user could create one and mount in it.
        error: Name of the error otherwise.
        limit: Greatest number of them (`user.max_user_namespaces`); None if the kernel does not say.
        unprivileged: Debian's switch `kernel.unprivileged_userns_clone`; None without it.
        apparmor: Ubuntu's switch `kernel.apparmor_restrict_unprivileged_userns`; None without it.
    """

    works: bool
    error: str
    limit: int | None
    unprivileged: int | None
    apparmor: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The way out of the networks of the machine.

    Attributes:
        route: Whether there is a default route; None if unknown.
        proxy: Whether a variable names a proxy.
    """

    route: bool | None
    proxy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The clock.

    Attributes:
        time: Seconds since 1970, when the probe ran.
        synchronized: Whether a time server sets it; None if the kernel does not say.
    """

    time: Measured
    synchronized: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The batch system.

    Attributes:
        name: `slurm`, `pbs` or `lsf`, if its commands are installed; else empty.
        job: Whether the probe ran in one of its jobs.
    """

    name: str
    job: bool
