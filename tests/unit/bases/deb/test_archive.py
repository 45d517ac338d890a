"""Lists of an archive are those that its suite names, and what cannot be checked is said."""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envbuilder.bases.deb.archive import DebianArchive
from envbuilder.bases.deb.index import PackageIndex
from envbuilder.errors import SourceUnreachable, VerificationFailed
from envbuilder.http.web import Web
from envbuilder.store import Store
from tests.unit.bases.deb.test_index import paragraph

LIST = "main/binary-amd64/Packages.xz"


@dataclass(kw_only=True)
class Mirror:
    """An archive in a folder.

    Attributes:
        folder: It and the one of security updates.
        notices: What was said.
        pauses: Seconds that were waited.
    """

    folder: Path
    notices: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def publish(self, suite: str, *paragraphs: str, root: str = "debian", component: str = "main") -> Path:
        """Write a suite; gives the path of its list."""
        packed = lzma.compress("\n".join(paragraphs).encode())
        place = self.folder / root / "dists" / suite
        path = f"{component}/binary-amd64/Packages.xz"
        (place / path).parent.mkdir(parents=True)
        (place / path).write_bytes(packed)
        listed = f" {hashlib.sha256(packed).hexdigest()} {len(packed)} {path}\n"
        md5 = f"MD5Sum:\n {'0' * 32} 1 {path}\n"
        (place / "InRelease").write_text(f"Suite: {suite}\n{md5}SHA256:\n{listed}SHA512:\n x 1 {path}\n")
        return place / path

    def archive(self) -> DebianArchive:
        """How we see it."""
        (self.folder / "keys").mkdir(exist_ok=True)
        return DebianArchive(
            mirror=f"file://{self.folder}/debian",
            store=Store(folder=self.folder / "store"),
            web=Web({}),
            keyrings=self.folder / "keys",
            notice=self.notices.append,
            pause=self.pauses.append,
        )

    def index(self) -> PackageIndex:
        """The packages of bookworm."""
        return self.archive().index("bookworm", ("main",))


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(folder=tmp_path)


def test_a_suite_without_keys_is_read_and_that_is_said(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"))
    found = mirror.index().find("toy")
    assert found is not None
    assert found.file == "pool/toy_1.0.deb"
    assert mirror.notices == [f"the signature of bookworm is not checked: no keys in {mirror.folder / 'keys'}"]


def test_updates_and_security_updates_count(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), paragraph("other"))
    mirror.publish("bookworm-updates", paragraph("other", "2.0"))
    mirror.publish("bookworm-security", paragraph("toy", "1.0+deb12u1"), root="debian-security")
    found = {name: package.file for name in ("toy", "other") if (package := mirror.index().find(name))}
    assert found == {"toy": "security:pool/toy_1.0+deb12u1.deb", "other": "pool/other_2.0.deb"}
    archive = mirror.archive()
    assert archive.address(found["toy"]) == f"{archive.mirror}-security/pool/toy_1.0+deb12u1.deb"
    assert archive.address(found["other"]) == f"{archive.mirror}/pool/other_2.0.deb"


def test_only_the_components_that_were_asked_for_are_read(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), component="contrib")
    assert mirror.index().find("toy") is None
    assert mirror.archive().index("bookworm", ("contrib",)).find("toy")


def test_a_list_that_its_suite_does_not_name_is_refused(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy")).write_bytes(lzma.compress(b"another"))
    with pytest.raises(VerificationFailed, match=r"Packages\.xz is not what its suite says") as caught:
        mirror.index()
    assert "try again" in caught.value.hint
    assert not list(mirror.archive().store.entries())


def test_a_list_that_is_no_xz_is_refused(mirror: Mirror) -> None:
    place = mirror.publish("bookworm", paragraph("toy"))
    place.write_bytes(b"no xz")
    release = place.parents[2] / "InRelease"
    release.write_text(f"Suite: x\nSHA256:\n {hashlib.sha256(b'no xz').hexdigest()} 5 {LIST}\n")
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        mirror.index()


def test_a_list_is_fetched_once(mirror: Mirror) -> None:
    place = mirror.publish("bookworm", paragraph("toy"))
    assert mirror.index().find("toy")
    place.unlink()
    assert mirror.index().find("toy")


def test_a_suite_that_is_not_there_is_said_at_once(mirror: Mirror) -> None:
    with pytest.raises(SourceUnreachable, match="dists/bookworm/InRelease is not there") as caught:
        mirror.index()
    assert "--debian-mirror" in caught.value.hint
    assert mirror.pauses == []


def test_no_credentials_are_in_an_error(tmp_path: Path) -> None:
    store = Store(folder=tmp_path / "store")
    archive = DebianArchive(
        mirror="gopher://me:secret@mirror.invalid/debian", store=store, web=Web({}), keyrings=tmp_path
    )
    with pytest.raises(SourceUnreachable, match="is no address of a Debian archive") as caught:
        archive.index("bookworm", ("main",))
    assert "secret" not in f"{caught.value} {caught.value.hint}"
