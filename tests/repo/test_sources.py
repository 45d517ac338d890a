"""Every file of the code is as the house wants it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.fakes.catalogs import ROOT

PACKAGE = ROOT / "envbuilder"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = [
    file
    for folder in ("envbuilder", "matrices", "templates", "tests")
    for file in sorted((ROOT / folder).rglob("*"))
    if file.is_file() and file.suffix in {".py", ".yaml", ".j2", ".patch", ".lock"}
]


@cache
def attributes() -> frozenset[tuple[str, str, str]]:
    """Return module, owner and name of every attribute that the package reads: `("core/x.py", "os.path", "join")`."""
    return frozenset(
        (str(file.relative_to(PACKAGE)), ast.unparse(node.value), node.attr)
        for file in MODULES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    )


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_starts_with_a_docstring(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


def test_every_text_has_unix_line_ends_and_a_final_one() -> None:
    wrong = [file for file in TEXTS if b"\r" in file.read_bytes() or file.read_bytes()[-1:] not in {b"\n", b""}]
    assert not wrong


def test_only_the_composition_root_reads_the_environment_of_the_process() -> None:
    readers = {file for file, owner, name in attributes() if owner == "os" and name in {"environ", "getenv"}}
    outside = {reader for reader in readers if not reader.startswith("incontainer/")}
    # A process that Slurm or Dask starts has no command line, and so no settings.
    assert outside <= {"wiring/settings.py", "cluster/execution/process_environment.py"}


def test_archives_are_extracted_by_one_function() -> None:
    """`extractall` and `extract` of tarfile and zipfile are unsafe, or safe only with newer Pythons than we support."""
    extracting = {"extractall", "extract", "_extract_member", "unpack_archive"}
    callers = {file for file, _, name in attributes() if name in extracting}
    assert not callers


_OPENING = {"tarfile.open", "tarfile.TarFile", "tarfile.TarFile.open", "zipfile.ZipFile", "zipfile.Path"}
_LINKING = {"symlink", "link", "mknod", "mkfifo", "symlink_to", "hardlink_to"}


def test_archives_are_read_and_links_are_made_in_one_package() -> None:
    """Members get their names from `member_names` and are written by `confined_writer`; the others say why not."""
    allowed = {
        "core/archives/zip_reader.py": "opens it after a look at its directory",
        "core/archives/confined_writer.py": "makes links through handles",
        "image/layers/sdists.py": "writes a wheel",
        "lock/resolve/uv_resolver.py": "writes a wheel",
        "curation/wheel_audit/wheel_archive.py": "reads single members of a wheel into temporary files",
        "oci/layout/directory.py": "links a blob of the store, under its digest",
        "oci/runtime/container_init.py": "makes /dev of a sandbox",
        "oci/runtime/interpreter_guard.py": "makes a home for an interpreter of this host",
        "oci/runtime/host_tree.py": "makes the root of a sandbox",
        "oci/runtime/root_mounts.py": "makes the root of a sandbox",
    }
    found = {
        file
        for file, owner, name in attributes()
        if f"{owner}.{name}" in _OPENING or (name in _LINKING and owner != "below")
    }
    assert found == allowed.keys()


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {part for file in MODULES for part in file.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & {"utils", "util", "helpers", "helper", "manager", "handler", "common", "misc"}


def test_every_room_of_the_code_has_tests() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    tested = {path.name for path in (ROOT / "tests" / "unit").iterdir() if any(path.glob("test_*.py"))}
    assert rooms <= {*tested, "incontainer"}
    assert any((ROOT / "tests" / "interpreters").glob("test_*.py")), "the tests of incontainer"
