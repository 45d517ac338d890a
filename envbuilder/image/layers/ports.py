"""What assembling images needs of the world."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.image.layers.inputs import BaseContent
from envbuilder.image.layers.records import Records
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, PackagePin
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblePorts:
    """What assembling needs of the world.

    Attributes:
        store: Keeps files and layers.
        records: Remembers layers and images.
        base: Content of the base of a lock; nothing is opened yet.
        locate: Where files of an interpreter's packages are.
        fetch: Gets one of them into the store; told about its progress.
        archive: Where the interpreter archive of a lock is.
        probe: Bytes of a lock's probe.
        hook: Bytes of a lock's memory hook; empty for a lock without.
        provided: Names of the libraries that a base has, with its OS packages.
        package_of: The OS package that usually brings a library; empty when that is not known.
        sandbox: Gives what foreign code is run in.
        work: Folder for what lies between two steps.
        jobs: How many layers are made at once.
        clock: Seconds that only go forward.
    """

    store: Store
    records: Records
    base: Callable[[Lock], BaseContent]
    locate: Callable[[Sequence[PackagePin], str], Sequence[IndexFile]]
    fetch: Callable[[IndexFile, Callable[[int, int], None]], None]
    archive: Callable[[Lock], Path]
    probe: Callable[[Lock], bytes]
    hook: Callable[[Lock], bytes]
    provided: Callable[[BaseContent], frozenset[str]]
    package_of: Callable[[str], str]
    sandbox: Callable[[], Sandbox]
    work: Path
    jobs: int
    clock: Callable[[], float] = time.monotonic
