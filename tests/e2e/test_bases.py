"""Real bases: Debian trees from real packages, in a real engine, with a real interpreter packed from this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, UsageError
from envbuilder.core.versions import Release
from envbuilder.image.base.docker_archive import docker_archive
from envbuilder.image.base.programs import BaseHost, run_program
from envbuilder.image.base.python_archive import pack
from envbuilder.image.base.python_survey import PythonArchive, inspect
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.image.base.uv_tool import find_uv, from_uv
from envbuilder.oci.tar.members import Kind, Member, of_tar
from tests.e2e.conftest import Tool

pytestmark = pytest.mark.xdist_group("engine")

TAG = "envbuilder-test/bases:bookworm"
_ELSEWHERE = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere-host && exec "$@"', "sh")


def host_with(**environ: str) -> BaseHost:
    return BaseHost(environ=dict(os.environ) | environ, run=run_program)


@pytest.fixture(scope="module")
def trees(tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> tuple[DebTree, DebTree]:
    """Return two trees made without an engine, the second with another umask, time zone, language and host name."""
    before = os.umask(0o077)
    try:
        elsewhere = _bootstrapped(
            [*_ELSEWHERE, tool.program], tool, tmp_path_factory.mktemp("second"), TZ="Asia/Tokyo", LANG="tr_TR.UTF-8"
        )
    finally:
        os.umask(before)
    return _bootstrapped([tool.program], tool, tmp_path_factory.mktemp("first")), elsewhere


def _bootstrapped(program: list[str], tool: Tool, cache: Path, **more: str) -> DebTree:
    environ = {**tool.environ, "ENVBUILDER_CACHE": str(cache), "DOCKER_HOST": "unix:///nonexistent/docker.sock", **more}
    command = [*program, "base", "bootstrap", "bookworm", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tree = TreeStore(cache / "bases").current("debian-bookworm")
    assert tree is not None
    assert tree.digest == json.loads(done.stdout)["digest"]
    return tree


def made_here(tree: DebTree) -> Iterator[Member]:
    """Files of a tree that no package brought as they are."""
    members = of_tar(tree.path)
    sums = [member for member in members if re.fullmatch(r"var/lib/dpkg/info/.*\.md5sums", member.path)]
    brought = {line.split(maxsplit=1)[1] for member in sums for line in member.read().decode().splitlines()}
    # Packages of bookworm still name /lib where the tree has /usr/lib.
    brought |= {f"usr/{path}" for path in brought}
    return (member for member in members if member.kind is Kind.FILE and member.path not in brought)


def test_two_bootstraps_on_different_hosts_are_the_same_bytes(trees: tuple[DebTree, DebTree]) -> None:
    one, two = trees
    assert one.digest == two.digest
    assert one.packages == two.packages
    assert one.size == one.path.stat().st_size
    versions = {pin.name: pin.version for pin in one.packages}
    assert versions["libc6"].startswith("2.36-")
    assert versions["python3"].startswith("3.11.")
    assert {"libc6", "libgomp1", "libstdc++6", "python3", "ca-certificates"} <= {pin.name for pin in one.packages}


def test_a_tree_holds_nothing_of_its_host_or_mirror(trees: tuple[DebTree, DebTree]) -> None:
    sites = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)"], capture_output=True, text=True, check=True
    )
    mirrors = {site.split("//")[1].split("/")[0] for site in sites.stdout.split() if "//" in site}
    assert mirrors
    for member in made_here(trees[1]):
        content = member.read()
        assert b"elsewhere-host" not in content, member.path
        assert not [mirror for mirror in mirrors if mirror.encode() in content], member.path
    paths = {member.path for member in of_tar(trees[0].path)}
    assert not paths & {"etc/resolv.conf", "etc/hostname", "etc/apt/sources.list", "dev/null", "var/log/dpkg.log"}
    assert not [path for path in paths if path.startswith("usr/local/share/ca-certificates/")]
    assert not [path for path in paths if re.match(r"usr/share/man/man\d/.", path)]
    assert "usr/share/doc/libc6/copyright" in paths


def test_the_store_gives_the_tree_back(trees: tuple[DebTree, DebTree], tmp_path: Path) -> None:
    copy = tmp_path / "copy.tar"
    copy.hardlink_to(trees[1].path)
    kept = TreeStore(tmp_path / "store").put(
        DebTree(**{name: getattr(trees[1], name) for name in DebTree.__slots__} | {"path": copy})
    )
    assert TreeStore(tmp_path / "store").get("debian-bookworm", trees[0].digest) == kept


def docker(*arguments: str, stdin: Path = Path(os.devnull)) -> str:
    with stdin.open("rb") as content:
        ran = subprocess.run(["docker", *arguments], stdin=content, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode().strip()


@pytest.fixture(scope="module")
def image(trees: tuple[DebTree, DebTree], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    out = tmp_path_factory.mktemp("image") / "image.tar"
    image_id = docker_archive(trees[0], out, labels={"io.envbuilder.test": "yes"}, tags=(TAG,))
    docker("load", "--input", str(out))
    yield image_id, trees[0].digest
    docker("image", "rm", TAG)


def test_the_engine_gives_the_image_the_id_that_was_predicted(image: tuple[str, str]) -> None:
    image_id, diff_id = image
    (info,) = json.loads(docker("image", "inspect", TAG))
    assert info["Id"] == image_id
    assert info["RootFS"]["Layers"] == [diff_id]
    assert info["Config"]["Labels"] == {"io.envbuilder.test": "yes"}
    assert docker("run", "--rm", "--network", "none", TAG, "python3", "-c", "print(6 * 7)") == "42"


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CPython that is not the system's: 3.8 of this machine if there is one, else what uv can download."""
    root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False) if _has_pyenv() else None
    found = sorted(Path(root.stdout.strip()).glob("versions/3.*/bin/python3")) if root else []
    if found:
        return next((path for path in found if "/3.8" in str(path)), found[-1])
    if Path(sys.base_prefix).resolve() != Path("/usr"):
        return Path(sys.executable)
    return from_uv(Release("3.8"), uv=find_uv(), folder=tmp_path_factory.mktemp("uv"), host=host_with())


def _has_pyenv() -> bool:
    return any((Path(folder) / "pyenv").exists() for folder in os.environ["PATH"].split(os.pathsep))


@pytest.fixture(scope="module")
def archive(interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> PythonArchive:
    return pack(interpreter, tmp_path_factory.mktemp("archive"), host=host_with())


def test_a_packed_python_runs_inside_the_base(image: tuple[str, str], archive: PythonArchive) -> None:
    program = f"/opt/python/bin/python{'.'.join(str(part) for part in archive.version.head(2))}"
    question = "import ctypes, hashlib, platform, ssl, sys; print(platform.python_version(), sys.prefix)"
    script = f"mkdir -p /opt && tar -xzf - -C /opt && exec {program} -I -c '{question}'"
    answer = docker("run", "--rm", "-i", "--network", "none", TAG, "sh", "-c", script, stdin=archive.path)
    assert image
    assert answer == f"{archive.version} /opt/python"
    assert archive.library_dirs == ()
    assert "libc.so.6" in archive.needs
    assert archive.missing is not None


def test_a_copy_of_the_installation_gives_the_same_archive(
    archive: PythonArchive, interpreter: Path, tmp_path: Path
) -> None:
    prefix = interpreter.resolve().parent.parent
    subprocess.run(["cp", "-a", str(prefix), str(tmp_path / "copy")], check=True)
    before = os.umask(0o077)
    try:
        again = pack(tmp_path / "copy" / "bin" / "python3", tmp_path, host=host_with())
    finally:
        os.umask(before)
    assert again.sha256 == archive.sha256
    with tarfile.open(again.path) as content:
        names = content.getnames()
        texts = [content.extractfile(name).read() for name in names if "_sysconfigdata" in name]  # type: ignore[union-attr]
    assert "python/lib/python" + archive.version.series + "/site-packages" in names
    assert not [name for name in names if re.search(r"__pycache__|site-packages/|/test/|/bin/pip|idle|\.a$", name)]
    assert texts
    assert str(prefix).encode() not in texts[0]
    assert b"/opt/python/lib" in texts[0]


def test_a_virtual_environment_stands_for_its_installation(
    archive: PythonArchive, interpreter: Path, tmp_path: Path
) -> None:
    subprocess.run([str(interpreter), "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    again = pack(tmp_path / "venv" / "bin" / "python", tmp_path, host=host_with())
    assert again.sha256 == archive.sha256


def test_the_python_of_the_operating_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="comes from OS packages"):
        pack(Path("/usr/bin/python3"), tmp_path, host=host_with())
    assert list(tmp_path.iterdir()) == []


def uv_program() -> Path:
    return Path(sys.executable).parent / "uv"


def test_uv_installs_what_a_catalog_of_its_own_names(archive: PythonArchive, tmp_path: Path) -> None:
    catalog = tmp_path / "downloads.json"
    major, minor, patch = archive.version.head(3)
    entry = {
        "name": "cpython",
        "arch": {"family": "x86_64", "variant": None},
        "os": "linux",
        "libc": "gnu",
        "major": major,
        "minor": minor,
        "patch": patch,
        "prerelease": "",
        "url": archive.path.as_uri(),
        "sha256": hashlib.sha256(archive.path.read_bytes()).hexdigest(),
        "variant": None,
        "build": "1",
    }
    catalog.write_text(json.dumps({f"cpython-{archive.version}-linux-x86_64-gnu": entry}), encoding="utf-8")
    host = host_with(UV_PYTHON_DOWNLOADS_JSON_URL=str(catalog), UV_CACHE_DIR=str(tmp_path / "cache"))
    program = from_uv(archive.version, uv=uv_program(), folder=tmp_path / "pythons", host=host)
    assert program.is_relative_to(tmp_path / "pythons")
    again = pack(program, tmp_path, host=host)
    assert again.version == archive.version
    assert inspect(again.path).sha256 == again.sha256


def test_a_download_that_does_not_answer_says_what_to_do(tmp_path: Path) -> None:
    host = host_with(
        UV_PYTHON_INSTALL_MIRROR="http://127.0.0.1:9", UV_CACHE_DIR=str(tmp_path / "cache"), UV_HTTP_RETRIES="0"
    )
    with pytest.raises(SourceUnreachable) as caught:
        from_uv(Release("3.8.18"), uv=uv_program(), folder=tmp_path / "pythons", host=host)
    assert "envbuilder python pack" in caught.value.hint
    assert "127.0.0.1:9" in caught.value.message
