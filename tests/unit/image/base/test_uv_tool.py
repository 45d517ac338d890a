"""Another uv than ours comes from a wheel of the index, and is what the lock says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.uv import Uv
from envbuilder.image.base.uv_tool import fetch_uv
from envbuilder.lock.lock import ToolPin

PROGRAM = b"#!/bin/sh\n"
INSTALL = """while [ "$1" != --target ]; do echo "$1" >> {folder}/asked; shift; done
echo "$3 $UV_DEFAULT_INDEX" >> {folder}/asked
mkdir -p "$2/bin"; printf '#!/bin/sh\\n' > "$2/bin/uv"
"""


def fetched(folder: Path, sha256: str, script: str = INSTALL) -> Path:
    program = folder / "our-uv"
    program.write_text("#!/bin/sh\n" + script.format(folder=folder), encoding="utf-8")
    program.chmod(0o755)
    pin = ToolPin(name="uv", version="0.13.1", sha256=sha256)
    uv = Uv(program=program, environ={"PATH": "/usr/bin:/bin"}, cache=folder, index="http://x.example")
    return fetch_uv(pin, uv=uv, folder=folder / "new")


def test_only_a_wheel_is_installed_and_the_index_is_the_one_that_was_named(tmp_path: Path) -> None:
    found = fetched(tmp_path, hashlib.sha256(PROGRAM).hexdigest())
    assert found.read_bytes() == PROGRAM
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert asked == [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "uv==0.13.1",
        "http://x.example",
    ]


def test_another_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match=r"uv 0\.13\.1 from the index differs from the one in the lock"):
        fetched(tmp_path, "0" * 64)


def test_a_link_is_no_program(tmp_path: Path) -> None:
    linked = 'while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; ln -s /bin/sh "$2/bin/uv"'
    with pytest.raises(VerificationFailed):
        fetched(tmp_path, hashlib.sha256(Path("/bin/sh").read_bytes()).hexdigest(), linked)


def test_a_release_that_the_index_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match=r"uv 0\.13\.1 of the lock is not available:\n  why"):
        fetched(tmp_path, "0" * 64, "echo '  why' >&2; exit 1")
