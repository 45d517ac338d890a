"""The interpreter, the virtual environment around it, and the user that an image runs as."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from envbuilder.core import image_layout
from envbuilder.core.archives.decompression import unpacked
from envbuilder.core.archives.limits import Budget
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.core.image_layout import PYTHON, VENV, WORKSPACE, site_packages
from envbuilder.image.layers.entries import Entry, folder, link, text
from envbuilder.lock.container_settings import User
from envbuilder.oci.tar.members import EPOCH, Kind, Member, of_tar

_ARCHIVE_TOP = "python"
_ACTIVATE = f"""# Source this from a POSIX shell; `deactivate` takes it back.
deactivate () {{
    PATH=$_ENVBUILDER_OLD_PATH; export PATH
    unset VIRTUAL_ENV _ENVBUILDER_OLD_PATH
    unset -f deactivate
}}
_ENVBUILDER_OLD_PATH=$PATH
VIRTUAL_ENV=/{VENV}; export VIRTUAL_ENV
PATH=$VIRTUAL_ENV/bin:$PATH; export PATH
"""


def archive_entries(archive: Path, work: Path) -> Iterator[Entry]:
    """Yield the content of an interpreter archive, at its path in the image.

    Args:
        archive: A `.tar.gz` with all members below one directory; its content was compared with its hash.
        work: Directory for the unpacked tar, which must stay until the entries were read.

    Raises:
        VerificationFailed: It cannot be read.
    """
    plain = work / f"{archive.name}.tar"
    try:
        budget = Budget(archive.stat().st_size)
        with archive.open("rb") as packed, unpacked(packed, "gz", budget) as source, plain.open("wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)
        members = of_tar(plain, "it")
    except BadArchive as error:
        raise VerificationFailed(
            f"{archive.name} cannot be unpacked: {error}", hint="`envbuilder python pack VERSION`"
        ) from error
    for member in members:
        top, _, rest = member.path.partition("/")
        if top == _ARCHIVE_TOP and rest:
            mode = 0o755 if member.kind is Kind.FOLDER or member.mode & 0o111 else 0o644
            moved = replace(member, path=f"{PYTHON}/{rest}", uid=0, gid=0, mode=mode, mtime=EPOCH)
            yield Entry(member=moved)


def venv_entries(home: str, series: str, version: str) -> Iterator[Entry]:
    """Yield an empty virtual environment.

    Args:
        home: Directory of its interpreter: `opt/python` or `usr`.
        series: `3.8`.
        version: As exact as it is known, such as `3.8.18`.
    """
    settings = (
        f"home = /{home}/bin\nimplementation = CPython\nversion_info = {version}\n"
        "include-system-site-packages = false\n"
    )
    yield text(f"{VENV}/pyvenv.cfg", settings.encode())
    yield text(f"{VENV}/bin/activate", _ACTIVATE.encode())
    yield link(f"{VENV}/bin/python", f"/{home}/bin/python{series}")
    yield link(f"{VENV}/bin/python3", "python")
    yield link(f"{VENV}/bin/python{series}", "python")
    yield link(f"{VENV}/lib64", "lib")
    yield folder(site_packages(series))


def account_entries(user: User, passwd: bytes, group: bytes) -> Iterator[Entry]:
    """Yield the entry of the user, its home and the working directory.

    Args:
        user: The user.
        passwd: Content of `/etc/passwd` in the base; empty if it has none.
        group: Likewise `/etc/group`.
    """
    line = f"{user.name}:x:{user.uid}:{user.gid}::/{image_layout.home(user.name)}:/bin/bash"
    yield text("etc/passwd", _with_line(passwd, line))
    yield text("etc/group", _with_line(group, f"{user.name}:x:{user.gid}:"))
    for path in (image_layout.home(user.name), WORKSPACE):
        yield Entry(member=Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=EPOCH, uid=user.uid, gid=user.gid))


def _with_line(content: bytes, line: str) -> bytes:
    """Return a list of users with one more; a user of the base with this name is replaced."""
    name = line.encode().partition(b":")[0] + b":"
    others = [each for each in content.splitlines() if not each.startswith(name)]
    return b"\n".join([*others, line.encode(), b""])
