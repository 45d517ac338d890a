"""Files by which Apptainer, enroot and Charliecloud start an image, run by a shell that takes their place."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.charliecloud import charliecloud_files
from envbuilder.oci.layout.enroot import start_files
from envbuilder.oci.layout.image_environment import HOST_ONLY, cleared, environment_of
from envbuilder.oci.layout.sif import write_sif
from envbuilder.oci.layout.singularity_metadata import metadata_files
from envbuilder.oci.store import Store
from tests.unit.oci.layout.images import file, image

ENV = {"PATH": "/opt/venv/bin:/bin", "VIRTUAL_ENV": "/opt/venv", "LANG": "C.UTF-8", "WORD": 'it\'s "two" $words'}
CONFIG = {"Env": [f"{name}={value}" for name, value in ENV.items()], "Cmd": ["python"], "Labels": {"b": "2", "a": "1"}}


@pytest.fixture
def made(store: Store) -> AssembledImage:
    return image(store, [file("a", b"1")], config=CONFIG)


def metadata(made: AssembledImage) -> dict[str, str]:
    return {one.path.removeprefix(".singularity.d/"): one.read().decode() for one in metadata_files(made, epoch=7)}


def in_a_shell(script: str, environ: dict[str, str]) -> dict[str, str]:
    """The environment after a script that another one reads, as Apptainer does."""
    command = ("/bin/sh", "-c", f"{script}\n/usr/bin/env -0")
    said = subprocess.run(command, env=environ, capture_output=True, check=True)
    return dict(pair.split("=", 1) for pair in said.stdout.decode().split("\0") if pair)


def test_the_environment_is_that_of_the_image_whatever_the_host_has(made: AssembledImage) -> None:
    host = dict.fromkeys((*HOST_ONLY, *ENV), "/of/the/host") | {"SLURM_JOB_ID": "7"}
    seen = in_a_shell(metadata(made)["env/90-environment.sh"], host)
    assert {name: seen[name] for name in ENV} == ENV
    assert {name for name in HOST_ONLY if seen[name]} == {"VIRTUAL_ENV"}
    assert seen["SLURM_JOB_ID"] == "7"


def test_variables_that_the_image_sets_itself_are_kept(store: Store) -> None:
    own = image(store, [file("a", b"1")], config={"Env": ["PYTHONPATH=/workspace", "NAMED", "=odd"]})
    assert environment_of(own) == (("PYTHONPATH", "/workspace"), ("NAMED", ""))
    assert "PYTHONPATH" not in cleared(environment_of(own))
    assert in_a_shell(metadata(own)["env/90-environment.sh"], {})["PYTHONPATH"] == "/workspace"


@pytest.mark.parametrize("before", ["", "/mine"])
def test_libraries_of_the_driver_are_found_after_those_that_are_given(made: AssembledImage, before: str) -> None:
    seen = in_a_shell(metadata(made)["env/99-base.sh"], {"LD_LIBRARY_PATH": before})
    assert seen["LD_LIBRARY_PATH"] == f"{before}:/.singularity.d/libs".removeprefix(":")


@pytest.mark.parametrize(
    ("config", "arguments", "said"),
    [
        ({"Cmd": ["echo", "a b"]}, (), "a b\n"),
        ({"Cmd": ["echo", "a b"]}, ("echo", "c  d"), "c  d\n"),
        ({"Entrypoint": ["echo", "x y"], "Cmd": ["z"]}, (), "x y z\n"),
        ({"Entrypoint": ["echo", "x y"], "Cmd": ["z"]}, ("c",), "x y c\n"),
        ({"Entrypoint": ["echo"]}, (), "\n"),
    ],
)
def test_the_runscript_is_entry_point_and_command(
    store: Store, tmp_path: Path, config: dict[str, list[str]], arguments: tuple[str, ...], said: str
) -> None:
    script = tmp_path / "runscript"
    script.write_text(metadata(image(store, [file("a", b"1")], config=config))["runscript"])
    done = subprocess.run(("/bin/sh", str(script), *arguments), capture_output=True, check=True, text=True)
    assert done.stdout == said


def test_the_files_are_programs_and_the_labels_are_a_document(made: AssembledImage) -> None:
    assert json.loads(metadata(made)["labels.json"]) == {"a": "1", "b": "2"}
    assert metadata(made)["test"].startswith("#!/opt/venv/bin/python\n")
    modes = {one.path: (one.mode, one.mtime) for one in metadata_files(made, epoch=7)}
    assert modes.pop(".singularity.d/labels.json") == (0o644, 7)
    assert set(modes.values()) == {(0o755, 7)}


def test_enroot_and_charliecloud_hide_the_same_variables(made: AssembledImage) -> None:
    enroot = {one.path: one.read().decode() for one in start_files(made, epoch=0)}
    charliecloud = {one.path: one.read().decode() for one in charliecloud_files(made, epoch=0)}
    assert enroot["etc/environment"] == charliecloud["ch/environment"]
    lines = charliecloud["ch/environment"].splitlines()
    assert lines[: len(ENV)] == CONFIG["Env"]
    assert lines[len(ENV) :] == [f"{name}=" for name in sorted(HOST_ONLY) if name != "VIRTUAL_ENV"]
    assert {"etc/hosts", "etc/resolv.conf"} < set(charliecloud)


def test_a_sif_file_holds_the_squashfs_and_follows_from_it(tmp_path: Path) -> None:
    """Positions and types are those that Apptainer's own files have."""
    squashfs, digest = tmp_path / "x.sqsh", f"sha256:{'a' * 64}"
    squashfs.write_bytes(b"hsqs" * 1000)
    for name in ("one.sif", "two.sif"):
        write_sif(squashfs, tmp_path / name, digest=digest, epoch=1_700_000_000)
    content = (tmp_path / "one.sif").read_bytes()
    assert content == (tmp_path / "two.sif").read_bytes()
    assert content.startswith(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\x0001\x0002\0")
    assert content[32768:] == squashfs.read_bytes()
    assert int.from_bytes(content[4096:4100], "little") == 0x4004
    write_sif(squashfs, tmp_path / "other.sif", digest=f"sha256:{'b' * 64}", epoch=1_700_000_000)
    assert (tmp_path / "other.sif").read_bytes() != content
    assert not list(tmp_path.glob(".*"))


def test_the_runscript_quotes_what_a_shell_would_read(store: Store) -> None:
    odd = image(store, [file("a", b"1")], config={"Cmd": ["echo", "$(id)", "a;b"]})
    last = metadata(odd)["runscript"].splitlines()[-1]
    assert shlex.split(last) == ["exec", "echo", "$(id)", "a;b"]
