"""Lists of an archive are those that its suite names; the suite is the one that was asked for, signed, and of now."""

from __future__ import annotations

import base64
import hashlib
import lzma
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, ToolMissing, VerificationFailed
from envbuilder.core.http.credentials import Logins, with_login
from envbuilder.core.http.retries import Pacing
from envbuilder.core.http.web import Web
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.distributions import DEBIAN, UBUNTU, DebDistribution
from envbuilder.image.base.deb.packages import PackageIndex
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb.signatures import Keyring
from envbuilder.oci.store import Store
from tests.fakes.debian_keys import Key, signed
from tests.unit.image.base.deb.test_packages import paragraph

LIST = "main/binary-amd64/Packages.xz"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY = Key()


def written(time: datetime) -> str:
    return f"{time:%a, %d %b %Y %H:%M:%S} UTC"


@dataclass(kw_only=True)
class Mirror:
    """An archive in a folder.

    Attributes:
        folder: It and the one of security updates.
        now: What the clock says.
        allow_expired: See `DebArchive`.
        notices: What was said.
        pauses: Seconds that were waited.
    """

    folder: Path
    now: datetime = NOW
    allow_expired: bool = False
    notices: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def publish(
        self,
        suite: str,
        *paragraphs: str,
        root: str = "debian",
        component: str = "main",
        names: tuple[str, str] = ("", ""),
        date: datetime = NOW - timedelta(days=1),
        until: datetime | None = NOW + timedelta(days=6),
        content: bytes | None = None,
        unpacked: int | None = None,
        key: Key = KEY,
        label: str = "",
    ) -> Path:
        """Write a suite as of a time; gives the path of its list."""
        text = "\n".join(paragraphs).encode()
        packed = lzma.compress(text) if content is None else content
        place = self.folder / root / "dists" / suite
        path = f"{component}/binary-amd64/Packages.xz"
        sha256 = hashlib.sha256(packed).hexdigest()
        by_hash = place / component / "binary-amd64" / "by-hash" / "SHA256" / sha256
        by_hash.parent.mkdir(parents=True, exist_ok=True)
        by_hash.write_bytes(packed)
        (place / path).write_bytes(packed)
        plain = path.removesuffix(".xz")
        listed = f" {sha256} {len(packed)} {path}\n {'0' * 64} {len(text) if unpacked is None else unpacked} {plain}\n"
        md5 = f"MD5Sum:\n {'0' * 32} 1 {path}\n"
        archive, code = names
        release = (
            (f"Label: {label}\n" if label else "")
            + f"Suite: {archive or 'oldstable'}\nCodename: {code or suite}\nDate: {written(date)}\n"
            + (f"Valid-Until: {written(until)}\n" if until else "")
            + f"Acquire-By-Hash: yes\n{md5}SHA256:\n{listed}SHA512:\n x 1 {path}\n"
        )
        (place / "InRelease").write_bytes(signed(release, key))
        return place / path

    def complete(self, *paragraphs: str, date: datetime = NOW - timedelta(days=1)) -> None:
        """Publish bookworm with its updates and security updates."""
        self.publish("bookworm", *paragraphs, date=date)
        self.publish("bookworm-updates", date=date)
        self.publish("bookworm-security", root="debian-security", date=date)

    def archive(self, *roots: str, distribution: DebDistribution = DEBIAN) -> DebArchive:
        """How we see it, or the archives in some directories of it."""
        keyring = self.folder / "keys.gpg"
        keyring.write_bytes(KEY.public)
        return DebArchive(
            mirrors=tuple(f"file://{self.folder}/{root}" for root in roots or (distribution.kind.value,)),
            distribution=distribution,
            store=Store(folder=self.folder / "store"),
            web=Web({}),
            seen=SeenReleases(self.folder / "seen"),
            keyring=Keyring(named=keyring, distribution=distribution),
            allow_expired=self.allow_expired,
            progress=self.notices.append,
            clock=lambda: self.now,
            pacing=Pacing(pause=self.pauses.append),
        )

    def index(self) -> PackageIndex:
        """The packages of bookworm."""
        return self.archive().index("bookworm", ("main",))


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(folder=tmp_path)


def test_a_signed_suite_is_read(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    index = mirror.index()
    found = index.find("toy")
    assert found is not None
    assert found.file == "pool/toy_1.0.deb"
    assert (index.missing, mirror.notices) == ((), [])


def test_an_archive_without_our_keys_is_not_believed(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    mirror.publish("bookworm", paragraph("toy"), key=Key(created=1))
    with pytest.raises(VerificationFailed, match="is not signed by a key of"):
        mirror.index()


def test_a_host_without_keys_believes_nothing(mirror: Mirror, tmp_path: Path) -> None:
    mirror.complete(paragraph("toy"))
    archive = mirror.archive()
    (tmp_path / "keys.gpg").unlink()
    with pytest.raises(ToolMissing, match="no keyring at"):
        archive.index("bookworm", ("main",))


def test_a_suite_under_the_name_of_another_is_refused(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), names=("oldoldstable", "bullseye"))
    with pytest.raises(VerificationFailed, match="returned bullseye or oldoldstable instead of bookworm"):
        mirror.index()


@pytest.mark.parametrize(("suite", "root"), [("bookworm-updates", "debian"), ("bookworm-security", "debian-security")])
def test_updates_of_another_suite_are_refused(mirror: Mirror, suite: str, root: str) -> None:
    mirror.complete(paragraph("toy"))
    mirror.publish(suite, root=root, names=("oldoldstable-updates", "bullseye-updates"))
    with pytest.raises(VerificationFailed, match=f"instead of {suite}"):
        mirror.index()


def test_an_expired_suite_is_refused_unless_that_is_allowed(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    mirror.now = NOW + timedelta(days=400)
    with pytest.raises(VerificationFailed, match="the Release of bookworm expired"):
        mirror.index()
    mirror.allow_expired = True
    assert mirror.index().find("toy")
    assert mirror.notices[0] == "bookworm expired at 2026-11-28 12:00 UTC: it lacks later security updates"


def test_a_suite_that_goes_back_behind_what_was_seen_is_refused_with_both_dates(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    mirror.index()
    mirror.publish("bookworm-security", root="debian-security", date=NOW - timedelta(days=5))
    with pytest.raises(VerificationFailed, match="dated 2026-11-17 12:00 UTC, older than one of 2026-11-21") as caught:
        mirror.index()
    assert f"rm {mirror.folder / 'seen' / 'bookworm-security'}" in caught.value.hint
    mirror.allow_expired = True
    mirror.index()
    mirror.allow_expired = False
    with pytest.raises(VerificationFailed, match="seen before"):
        mirror.index()
    (mirror.folder / "seen" / "bookworm-security").unlink()
    mirror.index()


def test_a_mirror_may_be_some_hours_behind_another(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    mirror.index()
    mirror.complete(paragraph("toy"), date=NOW - timedelta(days=1, hours=20))
    assert mirror.index().find("toy")


@pytest.mark.parametrize("record", [b"", b"\xff\x00", b"yesterday", b"2026-11-21", b"9" * 5000])
def test_a_damaged_record_of_what_was_seen_is_written_anew(mirror: Mirror, record: bytes) -> None:
    mirror.complete(paragraph("toy"))
    (mirror.folder / "seen").mkdir()
    (mirror.folder / "seen" / "bookworm").write_bytes(record)
    mirror.index()
    assert (mirror.folder / "seen" / "bookworm").read_text() == "2026-11-21T12:00:00+00:00\n"


def test_updates_that_the_archive_does_not_have_are_named(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"))
    index = mirror.index()
    assert index.find("toy")
    assert index.missing == ("bookworm-updates", "bookworm-security")
    assert [notice.partition(":")[0] for notice in mirror.notices] == [
        "the archive has no bookworm-updates", "the archive has no bookworm-security",
    ]  # fmt: skip


def test_updates_whose_list_is_gone_are_not_merely_missing(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    place = mirror.publish("bookworm-updates", paragraph("toy", "2.0"))
    place.unlink()
    next((place.parent / "by-hash" / "SHA256").glob("*")).unlink()
    for stale in (place.parent / "by-hash" / "SHA256").glob("*"):
        stale.unlink()
    with pytest.raises(SourceUnreachable, match=r"Packages\.xz does not exist"):
        mirror.index()


def test_updates_and_security_updates_count(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), paragraph("other"))
    mirror.publish("bookworm-updates", paragraph("other", "2.0"))
    mirror.publish("bookworm-security", paragraph("toy", "1.0+deb12u1"), root="debian-security")
    found = {name: package.file for name in ("toy", "other") if (package := mirror.index().find(name))}
    assert found == {"toy": "security:pool/toy_1.0+deb12u1.deb", "other": "pool/other_2.0.deb"}
    archive = mirror.archive()
    assert archive.addresses(found["toy"]) == (f"file://{mirror.folder}/debian-security/pool/toy_1.0+deb12u1.deb",)
    assert archive.addresses(found["other"]) == (f"file://{mirror.folder}/debian/pool/other_2.0.deb",)


def test_only_the_components_that_were_asked_for_are_read(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), component="contrib")
    assert mirror.index().find("toy") is None
    assert mirror.archive().index("bookworm", ("contrib",)).find("toy")


def test_a_list_is_taken_by_its_hash_while_the_mirror_is_updated(mirror: Mirror) -> None:
    mirror.complete()
    place = mirror.publish("bookworm", paragraph("toy"))
    place.write_bytes(lzma.compress(b"the next one"))
    assert mirror.index().find("toy")


def test_a_list_of_a_mirror_without_hashes_is_taken_by_its_name(mirror: Mirror) -> None:
    mirror.complete()
    place = mirror.publish("bookworm", paragraph("toy"))
    for stale in (place.parent / "by-hash" / "SHA256").glob("*"):
        stale.unlink()
    assert mirror.index().find("toy")


@pytest.mark.parametrize("replaced", [b"short", bytes(100_000)])
def test_a_list_that_its_suite_does_not_name_is_refused(mirror: Mirror, replaced: bytes) -> None:
    place = mirror.publish("bookworm", paragraph("toy"))
    place.write_bytes(replaced)
    next((place.parent / "by-hash" / "SHA256").glob("*")).unlink()
    with pytest.raises(VerificationFailed, match=r"Packages\.xz (does not match the digest|is larger than)") as caught:
        mirror.index()
    assert "try again" in caught.value.hint
    assert not list(mirror.archive().store.entries())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no xz", "cannot be unpacked"),
        (lzma.compress(b"half")[:-8], "it ends early"),
        (lzma.compress(b"one") + b"junk", "cannot be unpacked"),
        (lzma.compress(b"") * 9, "it has more than 8 streams"),
        (lzma.compress(bytes(600)) * 2, "is larger than 1000 bytes"),
        (lzma.compress(bytes(5_000_000)), "is larger than 1000 bytes"),
    ],
)
def test_a_list_that_is_no_xz_or_holds_too_much_is_refused(mirror: Mirror, content: bytes, told: str) -> None:
    mirror.publish("bookworm", content=content, unpacked=1000)
    with pytest.raises(VerificationFailed, match=told):
        mirror.index()


def test_a_list_that_claims_to_be_huge_is_not_fetched(mirror: Mirror) -> None:
    mirror.publish("bookworm", paragraph("toy"), unpacked=1 << 33)
    with pytest.raises(VerificationFailed, match="is too large for a package list"):
        mirror.index()
    assert not list(mirror.archive().store.entries())


def test_an_endless_release_is_given_up(mirror: Mirror) -> None:
    place = mirror.publish("bookworm", paragraph("toy")).parents[2] / "InRelease"
    with place.open("ab") as stream:
        stream.truncate(5 << 20)
    with pytest.raises(VerificationFailed, match="larger than the limit of 4194304 bytes"):
        mirror.index()


def test_a_list_is_fetched_once(mirror: Mirror) -> None:
    mirror.complete()
    place = mirror.publish("bookworm", paragraph("toy"))
    assert mirror.index().find("toy")
    place.unlink()
    next((place.parent / "by-hash" / "SHA256").glob("*")).unlink()
    assert mirror.index().find("toy")


def test_a_suite_that_is_not_there_is_said_at_once(mirror: Mirror) -> None:
    with pytest.raises(SourceUnreachable, match="dists/bookworm/InRelease does not exist") as caught:
        mirror.index()
    assert "--debian-mirror" in caught.value.hint
    assert mirror.pauses == []


@pytest.mark.parametrize(
    "address",
    [
        "gopher://me:secret@mirror.invalid/debian",
        "http://me:secret@[/debian",
        "http://me:secret@mirror.invalid:99999/debian",
        "http://me:secret/@mirror.invalid/debian",
        "http://me:secret@/debian",
        "http://mirror.invalid/de\nbian",
        "nothing",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_credentials(mirror: Mirror, address: str) -> None:
    known = mirror.archive()
    archive = DebArchive(mirrors=(address,), store=known.store, web=Web({}), seen=known.seen, keyring=known.keyring)
    with pytest.raises(SourceUnreachable, match="is not the address of a package archive") as caught:
        archive.index("bookworm", ("main",))
    assert "secret" not in f"{caught.value} {caught.value.hint}"


class Guarded(BaseHTTPRequestHandler):
    """A mirror behind a login that redirects once: below `/debian/` to `/moved/debian/`."""

    folder: Path
    asked: list[str]

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.folder / self.path.removeprefix("/moved").lstrip("/")
        status, header, body = 200, ("Content-Type", "text/plain"), b""
        if self.headers.get("Authorization") != f"Basic {base64.b64encode(b'me:s3cret').decode()}":
            status, header = 401, ("WWW-Authenticate", "Basic")
        elif not self.path.startswith("/moved"):
            status, header = 302, ("Location", f"/moved{self.path}")
        elif path.is_file():
            body = path.read_bytes()
        else:
            status = 404
        self.send_response(status)
        self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Give the host and port of a guarded mirror, and the paths that it was asked for."""
    asked: list[str] = []
    handler = type("Here", (Guarded,), {"folder": folder, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_a_mirror_with_a_login_gets_it_also_after_a_redirect_on_its_origin(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    with served(mirror.folder) as (place, asked):
        address = f"http://me:s3cret@{place}/debian"
        archive = replace(mirror.archive(), mirrors=(address,), web=Web({}, with_login(Logins(), address)))
        assert archive.index("bookworm", ("main",)).find("toy")
    assert "/moved/debian-security/dists/bookworm-security/InRelease" in asked
    assert mirror.notices == []


@pytest.mark.parametrize("login", ["", "me:wr0ng@"])
def test_a_refused_login_is_told_with_the_port_and_without_the_password(mirror: Mirror, login: str) -> None:
    with served(mirror.folder) as (place, asked):
        archive = replace(mirror.archive(), mirrors=(f"http://{login}{place}/debian",))
        with pytest.raises(SourceUnreachable, match="the server answers 401") as caught:
            archive.index("bookworm", ("main",))
    assert caught.value.message.startswith(f"http://{place}/debian/dists/bookworm/InRelease cannot be fetched")
    assert "~/.netrc" in caught.value.hint
    assert "wr0ng" not in f"{caught.value.message}{caught.value.hint}"
    assert len(asked) == 1


def test_a_server_that_fails_is_not_a_missing_suite(mirror: Mirror) -> None:
    mirror.complete(paragraph("toy"))
    (mirror.folder / "debian-security" / "dists" / "bookworm-security" / "InRelease").unlink()
    (mirror.folder / "debian-security" / "dists" / "bookworm-security" / "InRelease").mkdir()
    with pytest.raises(SourceUnreachable, match="cannot be fetched"):
        mirror.index()
    assert mirror.notices == []


def test_a_list_may_consist_of_several_streams(mirror: Mirror) -> None:
    mirror.complete()
    text = paragraph("toy").encode()
    mirror.publish("bookworm", content=lzma.compress(text) + lzma.compress(b""), unpacked=len(text))
    assert mirror.index().find("toy")


MOVED = ("old/debian", "old/debian-security")


def moved(mirror: Mirror, *, key: Key = KEY) -> DebArchive:
    """A mirror without bookworm, and an archive of old suites that has it."""
    mirror.publish("trixie")
    mirror.publish("bookworm", paragraph("toy"), root=MOVED[0], key=key)
    mirror.publish("bookworm-security", paragraph("toy", "1.1"), root=MOVED[1], key=key)
    return mirror.archive("debian", "old/debian")


def test_a_suite_that_has_moved_is_taken_from_the_next_archive(mirror: Mirror) -> None:
    archive = moved(mirror)
    index = archive.index("bookworm", ("main",))
    found = index.find("toy")
    assert found is not None
    assert (found.file, index.missing) == ("security:pool/toy_1.1.deb", ("bookworm-updates",))
    assert archive.addresses(found.file) == (
        f"file://{mirror.folder}/debian-security/pool/toy_1.1.deb",
        f"file://{mirror.folder}/old/debian-security/pool/toy_1.1.deb",
    )


def test_a_forged_suite_does_not_choose_the_next_archive(mirror: Mirror) -> None:
    archive = moved(mirror)
    mirror.publish("bookworm", paragraph("toy"), key=Key(created=1))
    with pytest.raises(VerificationFailed, match="is not signed by a key of"):
        archive.index("bookworm", ("main",))


def test_an_archive_that_fails_is_passed_over_if_the_next_one_has_the_suite(mirror: Mirror) -> None:
    archive = moved(mirror)
    (mirror.folder / "debian" / "dists" / "bookworm" / "InRelease").mkdir(parents=True)
    assert archive.index("bookworm", ("main",)).find("toy")
    broken = mirror.folder / "old" / "debian" / "dists" / "bookworm" / "InRelease"
    broken.unlink()
    with pytest.raises(SourceUnreachable, match=r"/debian/dists/bookworm/InRelease cannot be fetched"):
        archive.index("bookworm", ("main",))


OLD = ("oldoldstable", "buster")


def test_security_updates_of_suites_before_bullseye_have_a_directory_of_their_own(mirror: Mirror) -> None:
    mirror.publish("buster", paragraph("toy"))
    mirror.publish(
        "buster/updates", paragraph("toy", "1.1"), root="debian-security", names=OLD, label="Debian-Security"
    )
    index = mirror.archive().index("buster", ("main",))
    found = index.find("toy")
    assert found is not None
    assert (found.file, index.missing) == ("security:pool/toy_1.1.deb", ("buster-updates",))


def test_the_suite_itself_does_not_pass_for_its_security_updates(mirror: Mirror) -> None:
    mirror.publish("buster", paragraph("toy"))
    mirror.publish("buster/updates", paragraph("toy"), root="debian-security", names=OLD, label="Debian")
    with pytest.raises(VerificationFailed, match=r"instead of buster \(Debian-Security\)"):
        mirror.archive().index("buster", ("main",))


def test_ubuntu_has_its_security_updates_in_the_same_archive(mirror: Mirror) -> None:
    for suite, version in (("bionic", "1.0"), ("bionic-updates", "1.1"), ("bionic-security", "1.2")):
        mirror.publish(suite, paragraph("toy", version), root="ubuntu", names=(suite, "bionic"), until=None)
    archive = mirror.archive(distribution=UBUNTU)
    index = archive.index("bionic", ("main",))
    found = index.find("toy")
    assert found is not None
    assert (found.file, index.missing) == ("pool/toy_1.2.deb", ())
    assert archive.addresses(found.file) == (f"file://{mirror.folder}/ubuntu/pool/toy_1.2.deb",)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda mirror: mirror.publish("bionic", root="ubuntu", key=Key(created=1)),
        lambda mirror: mirror.publish("bionic", root="ubuntu", content=b"no xz"),
        lambda mirror: mirror.publish("bionic", root="ubuntu", names=("focal", "focal")),
        lambda mirror: mirror.publish("bionic", root="ubuntu", until=NOW - timedelta(hours=1)),
        lambda mirror: mirror.publish("focal", root="ubuntu"),
    ],
)
def test_errors_about_ubuntu_name_the_options_for_ubuntu(mirror: Mirror, break_it: Callable[[Mirror], Path]) -> None:
    break_it(mirror)
    with pytest.raises((VerificationFailed, SourceUnreachable)) as caught:
        mirror.archive(distribution=UBUNTU).index("bionic", ("main",))
    assert "--ubuntu-mirror URL" in caught.value.hint
    assert "--debian" not in caught.value.hint
