"""`scan` compares locks and images with databases that the user names, and its status follows the severity."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from zipfile import ZipFile

import pytest

from envbuilder.core.image_layout import LOCK_FILE
from envbuilder.lock.lockfile import dump
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.vulnerabilities.made import WORST, directory, lock_of, osv, pin, until

LOCK = lock_of(pin("protobuf", "3.19.1"), pin("six", "1.0"))
SEVERE = osv(
    "GHSA-made-1",
    aliases=["CVE-2099-1"],
    events=until("4.21.6"),
    summary="A vulnerability that was made for a test",
    severity=[{"type": "CVSS_V3", "score": WORST}],
)
MILD = osv("GHSA-made-2", package="six", events=until("1.1"), database_specific={"severity": "LOW"})


@pytest.fixture
def team(envbuilder: CommandLine) -> CommandLine:
    """A folder with `envbuilder.lock` and the database `osv`."""
    envbuilder.write("envbuilder.lock", dump(LOCK))
    directory(envbuilder.folder / "osv", SEVERE, MILD)
    return envbuilder


def test_findings_are_shown_with_what_can_be_done(team: CommandLine) -> None:
    team.set("COLUMNS", "80")
    ended = team("scan", "--database", "osv")
    assert ended.status == 1
    assert max(map(len, ended.stdout.splitlines())) <= 80
    assert "  critical  CVE-2099-1, GHSA-made-1\n" in ended.stdout
    text = " ".join(ended.stdout.split())
    assert "fixed in 4.21.6, but not within this environment: the environment requires protobuf<3.21: " in text
    assert 'fixed in 1.1 → add "six>=1.1" to `packages:` in envbuilder.yaml' in text
    assert "2 known vulnerabilities: 1 critical, 1 low; 1 can be fixed within this environment" in text
    assert "Debian:12 (1): the databases have no document for it" in text


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 1),
        (("--fail-on", "critical"), 1),
        (("--fail-on", "none"), 0),
        (("--ignore-unfixable",), 0),
        (("--ignore-unfixable", "--fail-on", "low"), 1),
    ],
)
def test_the_status_follows_the_severity(team: CommandLine, options: tuple[str, ...], status: int) -> None:
    assert team("scan", "--database", "osv", *options).status == status


def test_the_json_document_has_every_finding_with_its_fix(team: CommandLine) -> None:
    team.set("ENVBUILDER_OSV", "osv")
    ended = team("scan", "--json")
    found = json.loads(ended.stdout)
    assert (ended.status, found["schema"], found["environment"]) == (1, 1, "tf-2.4-cuda11.0")
    first, second = found["vulnerabilities"]
    assert (first["id"], first["severity"], first["fix"], first["fails"]) == (
        "CVE-2099-1", "critical", "not-within-environment", True,
    )  # fmt: skip
    assert (second["fix"], second["command"], second["fails"]) == ("possible", "envbuilder lock", False)
    assert found["databases"] == [{"name": "osv", "documents": 2, "newest": "2026-11-20"}]


def test_an_unreadable_document_is_named_and_fails(team: CommandLine) -> None:
    team.write("osv/GHSA-made-1.json", "{")
    ended = team("scan", "--database", "osv")
    assert ended.status == 1
    assert "Documents that could not be read\n  osv: GHSA-made-1.json: " in ended.stdout
    assert team("scan", "--database", "osv", "--fail-on", "none").status == 0


def test_nothing_is_compared_without_a_database(team: CommandLine) -> None:
    ended = team("scan")
    assert ended.status == 2
    assert "none is fetched by default" in ended.stderr
    assert "--database PATH|URL, or ENVBUILDER_OSV" in ended.stderr


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(team: CommandLine) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(team.folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_database_is_downloaded_from_an_address_and_removed(team: CommandLine, server: str) -> None:
    with ZipFile(team.folder / "all.zip", "w") as archive:
        archive.writestr("GHSA-made-1.json", json.dumps(SEVERE))
    ended = team("scan", "--database", f"http://me:secret@{server}/all.zip")
    assert ended.status == 1, ended.stderr
    assert f"with 1 documents of http://{server}/all.zip" in ended.stdout
    assert "secret" not in ended.stdout + ended.stderr
    assert list((team.folder / "cache" / "work").glob("scan-*")) == []
    missing = team("scan", "--database", f"http://{server}/other.zip")
    assert (missing.status, "other.zip cannot be fetched: the server answers 404" in missing.stderr) == (5, True)


def tar_of(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def image(path: Path, *layers: Mapping[str, bytes]) -> None:
    """Write an archive as `docker save` does."""
    tars = {f"{number}.tar": tar_of(files) for number, files in enumerate(layers)}
    digests = [f"sha256:{hashlib.sha256(content).hexdigest()}" for content in tars.values()]
    config = json.dumps({"rootfs": {"type": "layers", "diff_ids": digests}}).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": ["a:1"], "Layers": list(tars)}]
    documents = {"manifest.json": json.dumps(manifest).encode(), name: config}
    path.write_bytes(tar_of(documents | tars))


def test_the_lock_of_an_image_is_read_from_its_layers(team: CommandLine) -> None:
    image(team.folder / "image.tar", {"etc/os": b"x"}, {"etc/a": b"", LOCK_FILE: dump(LOCK).encode()}, {"b": b"y"})
    (team.folder / "envbuilder.lock").unlink()
    ended = team("scan", "image.tar", "--database", "osv", "--json")
    assert ended.status == 1, ended.stderr
    assert [each["id"] for each in json.loads(ended.stdout)["vulnerabilities"]] == ["CVE-2099-1", "GHSA-made-2"]


def test_an_image_without_a_lock_and_a_missing_lock_are_refused(team: CommandLine) -> None:
    image(team.folder / "image.tar", {"etc/os": b"x"})
    ended = team("scan", "image.tar", "--database", "osv")
    assert (ended.status, "image.tar does not contain its lock" in ended.stderr) == (2, True)
    assert "lock not found: other.lock" in team("scan", "other.lock", "--database", "osv").stderr
