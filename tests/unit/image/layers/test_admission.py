"""A distribution brings its own files, and nothing that the image or another distribution needs."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.admission import Clashes, admitted, require_pinned
from envbuilder.image.layers.entries import Entry, completed, folder, link, text
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix
from envbuilder.lock.lock import PackageGroup, PackagePin
from tests.unit.image.layers.wheels import DIST_INFO, wheel

PREFIX = Prefix(venv="opt/venv", series="3.8")
DATA = "toy-1.0.data"
POINTS = f"{DIST_INFO}/entry_points.txt"


def pin(name: str = "toy", version: str = "1.0") -> PackagePin:
    return PackagePin(
        name=name, version=version, file="toy-1.0-py3-none-any.whl", sha256="0" * 64, group=PackageGroup.OWN
    )


def brought(path: Path, *allowed: str) -> set[str]:
    opened = open_wheel(path, path.name)
    return {entry.path for entry in admitted(opened, PREFIX, allowed)}


def script(name: str) -> dict[str, bytes]:
    return {POINTS: f"[console_scripts]\n{name} = toy:main\n".encode()}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({".wh.six.py": b""}, "removes a file of a lower layer"),
        ({"toy/.wh..wh..opq": b""}, "removes a file of a lower layer"),
        ({f"{DATA}/data/bin/.wh.python3": b""}, "removes a file of a lower layer"),
        (script(".wh.python"), "is not the name of a file"),
        ({f"{DATA}/data/bin/python": b"#!/bin/sh\n"}, "replaces a part of the interpreter"),
        ({f"{DATA}/scripts/python3.8": b"#!python\n"}, "replaces a part of the interpreter"),
        (script("python"), "replaces a part of the interpreter"),
        (script("pythonw"), "replaces a part of the interpreter"),
        ({f"{DATA}/data/pyvenv.cfg": b"home = /tmp\n"}, "replaces a part of the interpreter"),
        ({f"{DATA}/data/pyvenv.cfg/x": b"1"}, "replaces a part of the interpreter"),
        ({f"{DATA}/data/lib64/x": b"1"}, "replaces a part of the interpreter"),
        ({f"{DATA}/data/bin": b"1"}, "replaces a part of the interpreter"),
        ({f"{DATA}/scripts": b"1"}, "a file instead of a directory"),
        ({"envbuilder_memory.pth": b"import evil\n"}, "replaces a part of the interpreter"),
        ({f"{DATA}/purelib/numpy-1.19.5.dist-info/METADATA": b"x"}, "metadata of another distribution"),
        ({f"{DATA}/data/lib/python3.8/site-packages/numpy-1.dist-info/RECORD": b"x"}, "metadata of another"),
        ({"numpy.egg-info": b"x"}, "metadata of another distribution"),
        (script("env"), "hides the program 'env'"),
        ({f"{DATA}/scripts/nvidia-smi": b"#!/bin/sh\n"}, "hides the program 'nvidia-smi'"),
        ({f"toy/{'a' * 253}.py": b"x"}, "longer than 255 bytes"),
        ({f"toy/{'ü' * 128}": b"x"}, "longer than 255 bytes"),
        ({"a/" * 2100 + "b.py": b"x"}, "longer than 3500 bytes"),
    ],
)
def test_a_wheel_that_brings_what_is_not_its_own_is_refused_by_name(
    tmp_path: Path, files: dict[str, bytes], problem: str
) -> None:
    with pytest.raises(VerificationFailed, match=problem) as refused:
        brought(wheel(tmp_path, files))
    assert "toy-1.0-py3-none-any.whl" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (script("ipython3"), "bin/ipython3"),
        (script("python-argcomplete-check"), "bin/python-argcomplete-check"),
        (script("pip3.8"), "bin/pip3.8"),
        (script("env2"), "bin/env2"),
        ({f"{DATA}/data/share/man/man1/env": b"x"}, "share/man/man1/env"),
        ({f"{DATA}/data/bin/toy": b"x"}, "bin/toy"),
        ({"toy/a.wh.py": b""}, "lib/python3.8/site-packages/toy/a.wh.py"),
        ({"toy/python": b""}, "lib/python3.8/site-packages/toy/python"),
        ({"toy/pyvenv.cfg": b""}, "lib/python3.8/site-packages/toy/pyvenv.cfg"),
        ({"toy/numpy-1.dist-info/x": b""}, "lib/python3.8/site-packages/toy/numpy-1.dist-info/x"),
        ({"toy.egg-info": b""}, "lib/python3.8/site-packages/toy.egg-info"),
        ({f"toy/{'a' * 252}": b"x"}, f"lib/python3.8/site-packages/toy/{'a' * 252}"),
    ],
)
def test_what_only_looks_like_it_is_installed(tmp_path: Path, files: dict[str, bytes], path: str) -> None:
    assert f"opt/venv/{path}" in brought(wheel(tmp_path, files))


def test_the_spec_can_allow_a_program_that_hides_another_but_not_another_interpreter(tmp_path: Path) -> None:
    assert "opt/venv/bin/env" in brought(wheel(tmp_path, script("env")), "/opt/venv/bin/env")
    with pytest.raises(VerificationFailed, match="interpreter"):
        brought(wheel(tmp_path, script("python3")), "/opt/venv/bin/python3")


@pytest.mark.parametrize(
    ("dist_info", "metadata", "found"),
    [
        ("numpy-1.0", "Name: toy\nVersion: 1.0\n", "directory numpy-1.0.dist-info is of 'numpy' '1.0'"),
        ("toy-1.1", "Name: toy\nVersion: 1.0\n", "directory toy-1.1.dist-info is of 'toy' '1.1'"),
        ("toy-1.0", "Name: numpy\nVersion: 1.0\n", "METADATA is of 'numpy' '1.0'"),
        ("toy-1.0", "Name: toy\nVersion: 9\n", "METADATA is of 'toy' '9'"),
        ("toy-1.0", "Summary: nothing\n\nName: toy\nVersion: 1.0\n", "METADATA is of '' ''"),
        ("toy", "Name: toy\nVersion: 1.0\n", "is of '' 'toy'"),
    ],
)
def test_metadata_of_another_distribution_or_version_is_refused(
    tmp_path: Path, dist_info: str, metadata: str, found: str
) -> None:
    path = wheel(tmp_path, {}, dist_info=f"{dist_info}.dist-info", metadata=metadata.encode())
    with pytest.raises(VerificationFailed) as refused:
        require_pinned(open_wheel(path, path.name), pin())
    assert found in refused.value.message
    assert "the lock has toy 1.0" in refused.value.message


@pytest.mark.parametrize(
    ("dist_info", "metadata", "wanted"),
    [
        ("Toy_Kit-1.0", "Name: Toy.Kit\nVersion: 1.0.0\n", pin("toy-kit", "1.0")),
        ("toy-1.0+cu_11", "Name: toy\r\nVersion: 1.0+cu.11\r\n\r\nText", pin("toy", "1.0+cu.11")),
        ("toy-2004d", "Name: toy\nVersion: 2004d\n", pin("toy", "2004d")),
    ],
)  # fmt: skip
def test_the_same_name_and_version_in_another_spelling_are_accepted(
    tmp_path: Path, dist_info: str, metadata: str, wanted: PackagePin
) -> None:
    path = wheel(tmp_path, {}, dist_info=f"{dist_info}.dist-info", metadata=metadata.encode())
    require_pinned(open_wheel(path, path.name), wanted)


def entry(path: str, content: bytes = b"1", origin: str = "a.whl") -> Entry:
    return text(path, content, origin=origin)


def checksum(of: Entry) -> int:
    return zlib.crc32(of.member.read())


SITE = PREFIX.site


@pytest.mark.parametrize("reverse", [False, True])
def test_a_file_of_one_distribution_that_is_a_folder_of_another_is_refused_with_both_names(reverse: bool) -> None:
    pair = [entry(f"{SITE}/x", origin="a.whl"), entry(f"{SITE}/x/deep/y.py", origin="b.whl")]
    first, second = reversed(pair) if reverse else pair
    clashes = Clashes(checksum)
    clashes.see(first)
    with pytest.raises(VerificationFailed, match=r"site-packages/x is a file of a\.whl and a directory of b\.whl"):
        clashes.see(second)


def test_a_layer_has_no_path_below_a_file_or_a_link() -> None:
    with pytest.raises(VerificationFailed, match=r"b\.whl brings /a/b/c, but /a/b is a file or a link of a\.whl"):
        completed([entry("a/b", origin="a.whl"), entry("a/b/c", origin="b.whl")])
    with pytest.raises(VerificationFailed, match="it holds /srv/x, but /srv is a file or a link"):
        completed([link("srv", "/etc"), text("srv/x", b"1")])
    with pytest.raises(VerificationFailed, match=r"it holds /etc/\.wh\.passwd"):
        completed([text("etc/.wh.passwd", b"")])
    assert [each.path for each in completed([folder("a"), entry("a/b"), entry("a.b/c")])] == [
        "a",
        "a.b",
        "a.b/c",
        "a/b",
    ]


def test_own_packages_must_not_replace_code_of_the_environment() -> None:
    for path in (f"{SITE}/numpy/__init__.py", f"{SITE}/numpy/core/a.so", "opt/venv/bin/f2py"):
        clashes = Clashes(checksum)
        clashes.see(entry(path, b"1", "numpy.whl"))
        with pytest.raises(
            VerificationFailed, match=r"evil\.whl cannot be installed: it replaces /.* of numpy\.whl"
        ) as no:
            clashes.see(entry(path, b"2", "evil.whl"), own=True)
        assert no.value.hint
        assert f'allow: ["/{path}"]' in no.value.hint


@pytest.mark.parametrize(
    ("path", "content", "before_is_own", "allowed", "notes"),
    [
        (f"{SITE}/nvidia/__init__.py", b"1", False, (), 0),
        (f"{SITE}/numpy/__init__.py", b"2", False, (f"/{SITE}/numpy/__init__.py",), 1),
        (f"{SITE}/numpy/LICENSE.txt", b"2", False, (), 1),
        (f"{SITE}/tests/__init__.py", b"2", False, (), 1),
        (f"{SITE}/attr/__init__.py", b"2", True, (), 1),
    ],
    ids=["equal", "allowed", "no-code", "tests", "both-own"],
)
def test_other_paths_of_two_distributions_are_noted(
    path: str, content: bytes, before_is_own: bool, allowed: tuple[str, ...], notes: int
) -> None:
    clashes = Clashes(checksum, allowed)
    clashes.see(entry(path, b"1", "a.whl"), own=before_is_own)
    clashes.see(entry(path, content, "b.whl"), own=True)
    assert len(clashes.notes) == notes
    assert all("a.whl" in note and "b.whl" in note for note in clashes.notes)
