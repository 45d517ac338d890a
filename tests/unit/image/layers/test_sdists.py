"""A source distribution that cannot be built safely is refused before anything of it is run."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed, VerificationFailed
from envbuilder.image.layers.image_python import TargetPython
from envbuilder.image.layers.sdists import build_wheel
from envbuilder.oci.store import Store
from tests.unit.image.layers.source_distributions import sdist
from tests.unit.image.toys import no_sandbox


def built(path: Path, tmp_path: Path) -> str:
    python = TargetPython(root=tmp_path / "root", home="usr", series="3.8", sandbox=no_sandbox)
    store = Store(folder=tmp_path / "store")
    try:
        return build_wheel(path, path.name, [], python, store)
    finally:
        assert not list(store.entries())


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"toy-1.0/pyproject.toml": b"[build-system]\nrequires = []\nbuild-backend = 'flit_core.buildapi'\n"},
        {"toy-1.0/pyproject.toml": b"no toml"},
        {"toy-1.0/setup.py": b"", "other/setup.py": b""},
        {"setup.py": b""},
        {"toy-1.0/src/setup.py": b""},
    ],
)
def test_without_a_setup_in_its_only_folder_it_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(BuildFailed, match=r"toy-1\.0\.tar\.gz has no setup\.py") as caught:
        built(sdist(tmp_path, files), tmp_path)
    assert "`build_tools:`" in caught.value.hint
    assert "`build_requires:`" in caught.value.hint


@pytest.mark.parametrize("name", ["../evil", "toy/../../evil"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        built(sdist(tmp_path, {"toy-1.0/setup.py": b"", name: b"evil"}), tmp_path)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = sdist(tmp_path, {"toy-1.0/setup.py": bytes((number * 7919) % 251 for number in range(5000))})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(VerificationFailed, match="cannot be unpacked") as caught:
        built(path, tmp_path)
    assert "another version" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"no archive" * 99])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "toy-1.0.tar.gz"
    path.write_bytes(content)
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        built(path, tmp_path)


def test_a_zip_without_setup_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy-1.0/README", "read")
    with pytest.raises(BuildFailed, match=r"no setup\.py"):
        built(path, tmp_path)


def test_an_interpreter_that_cannot_be_run_is_said_as_a_failed_build(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with pytest.raises(BuildFailed, match=r"cannot be built into a wheel: .*no loader") as caught:
        built(sdist(tmp_path, {"toy-1.0/setup.py": b""}), tmp_path)
    assert caught.value.step == "toy-1.0.tar.gz"
    assert "a version that has a wheel" in caught.value.hint
