"""Files taken out of a vendor archive into the store, each under its own sha256 and unmodified."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core import units
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.vendor.archive_members import Content, members
from envbuilder.image.vendor.records import TakenFile
from envbuilder.image.vendor.survey import ArchiveSurvey, survey
from envbuilder.oci.store import Store

_LARGEST_TEXT = 4 << 20
"""Bytes of the text of a license; that of CUDA 12 has 60,000."""

NEVER_UPDATED = (
    "the file was not used;  pins are never updated automatically: compare the file with its publisher's, and report it"
)


def extract(pin: ArchivePin, file: Path, store: Store, progress: Callable[[str], None]) -> dict[str, TakenFile]:
    """Take the libraries of a pin, and the text of the license, out of an archive.

    The archive is read twice: once as a whole, for its paths, links and checksums, and once up to the last wanted file.

    Returns:
        The files by the path that the pin names.

    Raises:
        VerificationFailed: The archive is damaged, does not contain a file, or a library has another sha256 than the
            pin.
        DiskFull: There is no room.
    """
    try:
        with closing(members(file, pin)) as found:
            seen = survey(member for member, _ in found)
        files = _files(pin, seen)
        total = sum(seen.sizes[path] for path in set(files.values()))
        progress(f"taking {len(pin.libraries)} libraries out of {pin.file}: {units.size(total)} on disk beside it")
        digests = _copied(pin, file, {seen.numbers[path]: path for path in files.values()}, store)
    except BadArchive as error:
        raise VerificationFailed(f"{pin.file} cannot be used: {error}", hint=NEVER_UPDATED) from error
    taken = {
        path: TakenFile(path=path, file=inside, digest=digests[inside], size=seen.sizes[inside])
        for path, inside in files.items()
    }
    require_pinned(pin, taken)
    return taken


def require_pinned(pin: ArchivePin, taken: Mapping[str, TakenFile]) -> None:
    """Raise VerificationFailed if a library has another sha256 than its pin."""
    for library in pin.libraries:
        digest = taken[library.path].digest
        if library.sha256 and digest != f"sha256:{library.sha256}":
            raise VerificationFailed(
                f"{library.soname} in {pin.file} has the digest {digest}, the lock has sha256:{library.sha256}",
                hint=NEVER_UPDATED,
            )


def _files(pin: ArchivePin, seen: ArchiveSurvey) -> dict[str, str]:
    """Return the path of each wanted file in the archive, by the path that the pin names."""
    files = {library.path: seen.file(library.path) for library in pin.libraries}
    if pin.eula:
        files[pin.eula] = _license(pin.eula, seen)
    return files


def _license(path: str, seen: ArchiveSurvey) -> str:
    """Return the text of the license: the pinned path, or the first file of that name, for it moved between releases.

    Raises:
        BadArchive: There is none.
    """
    named = seen.named(posixpath.basename(path))
    found = seen.file(path if path in named or not named else named[0])
    if seen.sizes[found] > _LARGEST_TEXT:
        raise BadArchive(f"{found}, the text of its license, has {seen.sizes[found]} bytes")
    return found


def _copied(pin: ArchivePin, file: Path, wanted: Mapping[int, str], store: Store) -> dict[str, str]:
    """Copy some members of an archive, by their positions, into the store; return their digests by path."""
    digests: dict[str, str] = {}
    with closing(members(file, pin)) as found:
        for number, (member, content) in enumerate(found):
            if number in wanted:
                digests[member.path] = _stored(content, store)
            if len(digests) == len(wanted):
                break
    return digests


def _stored(content: Content, store: Store) -> str:
    with store.writing() as writer:
        for piece in content():
            writer.write(piece)
    return writer.digest
