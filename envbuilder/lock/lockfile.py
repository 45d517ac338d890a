"""Lock files: where they are, and their canonical text. `load(dump(lock)) == lock`, and equal locks are equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from envbuilder.catalog.environments import CudaProvider
from envbuilder.core import structure
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.conversion.reading import Path as FieldPath
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.core.field_rules import At
from envbuilder.core.field_types import exactly
from envbuilder.core.files import read_text
from envbuilder.core.names import is_file_of, shown
from envbuilder.core.references import ImageRef
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured, value_of
from envbuilder.lock.container_settings import workdir_problem
from envbuilder.lock.lock import LOCK_SCHEMA, BasePin, CudaPin, Lock, PackagePin
from envbuilder.lock.resolve.tensorflow_distributions import DISTRIBUTIONS

SPEC = Path("envbuilder.yaml")
LOCK = Path("envbuilder.lock")
_HEADER = "# Written by `envbuilder lock`. Not meant to be edited: change envbuilder.yaml and lock again.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDocument:
    """Content of a lock."""

    schema: Annotated[int, exactly(LOCK_SCHEMA)]
    lock: Annotated[Lock, At()]


def digest(lock: Lock) -> str:
    """Return the `sha256:…` of the canonical text of the pins, the identity of a lock."""
    return _digest_of_pins(_pins(lock))


# Cached, since many steps call it and the canonical text of a lock takes 20 ms.
@lru_cache(maxsize=64)
def _digest_of_pins(pins: Lock) -> str:
    return digest_of(dump(pins).encode())


def dump_pins(lock: Lock) -> str:
    """Return the canonical text of the pins, which is in the image: without the name and the resulting image."""
    return dump(_pins(lock))


def _pins(lock: Lock) -> Lock:
    return replace(lock, name="", image=None)


def dump(lock: Lock) -> str:
    """Return the canonical text of a lock."""
    return _HEADER + canonical({"schema": LOCK_SCHEMA, **structure.dump(lock)})


def load(text: str, file: str) -> Lock:
    """Read a lock.

    Raises:
        InvalidInput: The text is not a lock, or has another schema.
    """
    document = read(text, file)
    value = value_of(document.root)
    if not isinstance(value, dict) or value.get("schema") != LOCK_SCHEMA:
        problem = f"must be {LOCK_SCHEMA}: this is not a lock, or one of another version"
        hint = "lock again with this envbuilder: `envbuilder lock`"
        raise InvalidInput((Fault(file=file, line=document.root.line, field="schema", problem=problem, hint=hint),))
    return structured(LockDocument, document, file, check=_contradictions).lock


def _contradictions(document: LockDocument) -> Iterator[Mismatch]:
    """Yield contradictions between fields of a lock that are valid by themselves."""
    lock = document.lock
    if problem := _base_problem(lock.base):
        yield Mismatch(path=("base", "image"), problem=problem)
    if lock.image is not None and not lock.image.layers:
        yield Mismatch(path=("image", "layers"), problem="must have at least one entry")
    if problem := workdir_problem(lock.settings.workdir, (file.path for file in lock.files)):
        yield Mismatch(path=("workdir",), problem=problem)
    yield from _wrong_archives(lock.cuda)
    for index, pin in enumerate(lock.packages):
        if not is_file_of(pin.file, pin.name, pin.version):
            problem = f"{shown(pin.file)} is not a file of {pin.name} {pin.version}"
            yield Mismatch(path=("packages", index, "file"), problem=problem)
    yield from _second_tensorflow(lock.packages)


def _wrong_archives(cuda: CudaPin | None) -> Iterator[Mismatch]:
    if cuda is None:
        return
    if bool(cuda.archives) != (cuda.provider is CudaProvider.ARCHIVE):
        yield Mismatch(path=("cuda", "archives"), problem="must be given for libraries of archives, and only for these")
    taken: set[str] = set()
    for index, pin in enumerate(cuda.archives):
        path: FieldPath = ("cuda", "archives", index)
        if problem := pin.inner_problem:
            yield Mismatch(path=(*path, "inner"), problem=problem)
        for number, library in enumerate(pin.libraries):
            if library.soname in taken:
                problem = f"{library.soname} comes from two archives"
                yield Mismatch(path=(*path, "libraries", number, "soname"), problem=problem)
            taken.add(library.soname)


def _base_problem(base: BasePin) -> str:
    if base.kind.is_tree:
        return "must be empty: a tree of packages is in no registry" if base.image else ""
    try:
        ImageRef.parse(base.image)
    except ValueError as error:
        return str(error)
    return ""


def _second_tensorflow(packages: tuple[PackagePin, ...]) -> Iterator[Mismatch]:
    found = [(index, pin) for index, pin in enumerate(packages) if pin.name in DISTRIBUTIONS]
    for index, pin in found[1:]:
        first = found[0][1]
        if pin.name != first.name:
            known = f"{first.name} {first.version}"
            problem = f"{pin.name} {pin.version} is a second TensorFlow: it overwrites the files of {known}"
            hint = "lock again, which keeps that of the environment: `envbuilder lock`"
            yield Mismatch(path=("packages", index, "name"), problem=problem, hint=hint)


def lock_path(name: str | None, *, instead: str = "name an environment: `envbuilder list`") -> Path | None:
    """Return the lock that a name on the command line means; None if it can only be that of a row.

    Args:
        name: The path of a lock or of its directory; None means the lock in this directory.
        instead: Hint if there is neither a lock nor a spec in this directory.

    Raises:
        UsageError: There is no such lock.
    """
    if name is None:
        if LOCK.is_file():
            return LOCK
        hint = "`envbuilder lock` creates it" if SPEC.is_file() else instead
        raise UsageError(f"{LOCK} not found in the current directory", hint=hint)
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir() and (path / LOCK).is_file():
        return path / LOCK
    if "/" in name or path.suffix == ".lock":
        raise missing_lock(name, hint="`envbuilder lock` creates one from an envbuilder.yaml")
    return None


def missing_lock(name: str | Path, *, hint: str) -> UsageError:
    """Return the error for a lock that does not exist."""
    return UsageError(f"lock not found: {name}", hint=hint)


def read_lock(path: Path) -> Lock:
    """Return the lock in a file.

    Raises:
        InvalidInput: The file is not a lock.
    """
    return load(read_text(path), str(path))


def replaced_lock(path: Path, progress: Callable[[str], None]) -> Lock | None:
    """Return the lock that a new one replaces; None if there is none, or an invalid one such as of another schema.

    Raises:
        InvalidInput: The file is not a lock.
    """
    if not path.is_file():
        return None
    try:
        return read_lock(path)
    except InvalidInput as error:
        if not read_text(path).startswith(_HEADER):
            raise
        fault = error.faults[0]
        progress(f"replacing a lock that is refused: {path}:{fault.line}: {fault.problem}")
        return None
