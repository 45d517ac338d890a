"""Trees of real .debs that are in the store: made from a lock alone, with the programs that it allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.web import Web
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.distributions import UBUNTU
from envbuilder.image.base.deb.resolver import MINIMAL
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb.signatures import Keyring
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import of_tar
from envbuilder.oci.transfers import Transfer
from tests.fakes.catalogs import good_lock, real_catalog
from tests.unit.image.base.deb.debs import deb
from tests.unit.image.base.deb.test_archive import Mirror
from tests.unit.image.base.deb.test_packages import paragraph

UNKNOWN = f"sha256:{'0' * 64}"


class Machine:
    """A machine whose store has the .debs of a base and of sudo, and that reaches nothing."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        store = Store(folder=folder / "store")
        self.trees = DebTrees(
            store=store,
            trees=TreeStore(folder / "bases"),
            archives={
                BaseKind.DEBIAN: DebArchive(
                    mirrors=(), store=store, web=Web({}), seen=SeenReleases(folder / "seen"), keyring=Keyring()
                )
            },
            work=folder / "work",
            progress=self.said.append,
            offline=True,
        )
        self.login = _kept(store, folder, "login", {"bin/su": 0o4755, "usr/bin/newgrp": 0o4755})
        self.sudo = _kept(store, folder, "sudo", {"usr/bin/sudo": 0o4755})

    def lock(self, digest: str, *allow: str) -> Lock:
        base = BasePin(id="debian-bookworm", kind=BaseKind.DEBIAN, image="", digest=digest, packages=(self.login,))
        return replace(good_lock(), base=base, os_packages=(self.sudo,), allow=allow)

    def current(self) -> DebTree:
        """The tree that specs get which allow nothing."""
        with pytest.raises(VerificationFailed) as refused:
            self.trees.provide(self.lock(UNKNOWN))
        [digest] = [word.strip(":,") for word in refused.value.message.split() if word.startswith("sha256:")][:1]
        return self.trees.provide(self.lock(digest))


def _kept(store: Store, folder: Path, name: str, modes: dict[str, int]) -> OsPackagePin:
    pin, path = deb(folder, name, dict.fromkeys(modes, b"x"), modes=modes)
    return replace(pin, sha256=store.take(path).removeprefix("sha256:"))


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], Machine]:
    def made(name: str) -> Machine:
        (tmp_path / name).mkdir()
        return Machine(tmp_path / name)

    return made


def privileged(path: Path) -> set[str]:
    return {member.path for member in of_tar(path) if member.mode & 0o6000}


def test_a_lock_that_allows_a_program_of_the_base_gets_the_same_tree_on_every_machine(
    machine: Callable[[str], Machine],
) -> None:
    here, there = machine("here"), machine("there")
    plain = here.current()
    assert (privileged(plain.path), plain.cleared) == (set(), ("usr/bin/newgrp", "usr/bin/su"))
    kept = here.trees.keep(BaseKind.DEBIAN, plain, frozenset({"usr/bin/su"}))
    assert (privileged(kept.path), kept.cleared) == ({"usr/bin/su"}, ("usr/bin/newgrp",))
    again = there.trees.provide(there.lock(kept.digest, "/bin/su", "/usr/bin/sudo"))
    assert privileged(again.path) == {"usr/bin/su"}
    assert here.trees.trees.current("debian-bookworm") == plain
    assert there.trees.trees.current("debian-bookworm") is None


def test_a_lock_of_another_rule_says_what_to_type(machine: Callable[[str], Machine]) -> None:
    here = machine("here")
    with pytest.raises(VerificationFailed, match=r"was created by another version of envbuilder") as refused:
        here.trees.provide(here.lock(UNKNOWN))
    assert "`envbuilder lock`" in refused.value.hint
    assert here.trees.trees.current("debian-bookworm") is None


def test_os_packages_that_lose_rights_are_named_with_the_field_that_keeps_them(
    machine: Callable[[str], Machine],
) -> None:
    here = machine("here")
    tree = here.current()
    base = of_tar(tree.path)

    def added(*allow: str) -> int:
        here.said.clear()
        [sudo] = [each for each in here.trees.added(here.lock(tree.digest, *allow), base) if each.path.endswith("sudo")]
        return sudo.mode

    assert added() == 0o755
    assert any("/usr/bin/sudo" in sentence and "`allow:`" in sentence for sentence in here.said)
    assert added("/usr/bin/sudo") == 0o4755
    assert not any("/usr/bin/sudo" in sentence for sentence in here.said)


def from_archive(folder: Path, *mirrors: str, offline: bool = False, seen: list[Transfer] | None = None) -> DebTrees:
    """A machine with an empty store, which reaches an archive."""
    store = Store(folder=folder / "store")
    return DebTrees(
        store=store,
        trees=TreeStore(folder / "bases"),
        archives={
            BaseKind.DEBIAN: DebArchive(mirrors=mirrors, store=store, web=Web({}), seen=SeenReleases(folder / "seen"))
        },
        work=folder / "work",
        progress=lambda _: None,
        listener=([] if seen is None else seen).append,
        offline=offline,
    )


def published(folder: Path) -> OsPackagePin:
    """A package of an archive in a directory."""
    (folder / "debian").mkdir()
    pin, path = deb(folder / "debian", "toy", {"usr/bin/toy": b"toy"})
    return replace(pin, sha256=sha256(path.read_bytes()).hexdigest(), file=path.name, size=path.stat().st_size)


def test_packages_are_fetched_once(tmp_path: Path) -> None:
    pin = published(tmp_path)
    trees = from_archive(tmp_path, f"file://{tmp_path}/debian")
    trees.fetch(BaseKind.DEBIAN, [pin])
    (tmp_path / "debian" / pin.file).unlink()
    trees.fetch(BaseKind.DEBIAN, [pin])
    assert trees.store.has(f"sha256:{pin.sha256}")


def test_the_bytes_of_fetched_packages_are_reported(tmp_path: Path) -> None:
    pin, seen = published(tmp_path), list[Transfer]()
    from_archive(tmp_path, f"file://{tmp_path}/debian", seen=seen).fetch(BaseKind.DEBIAN, [pin])
    assert seen == [Transfer(item="Debian packages", current=pin.size, total=pin.size)]


def test_a_package_that_the_archive_no_longer_has_says_where_it_still_is(tmp_path: Path) -> None:
    pin = published(tmp_path)
    (tmp_path / "debian" / pin.file).unlink()
    with pytest.raises(SourceUnreachable) as refused:
        from_archive(tmp_path, f"file://{tmp_path}/debian").fetch(BaseKind.DEBIAN, [pin])
    assert "name an archive that keeps all as a further one (a snapshot: --debian-mirror URL)" in refused.value.hint


@pytest.mark.parametrize(
    ("offline", "words"), [(True, "downloads are disabled"), (False, "this host has none in its apt configuration")]
)
def test_without_an_archive_nothing_is_fetched(tmp_path: Path, *, offline: bool, words: str) -> None:
    with pytest.raises(SourceUnreachable, match=words):
        from_archive(tmp_path, offline=offline).fetch(BaseKind.DEBIAN, [published(tmp_path)])


def test_a_tree_of_a_bundle_is_read_from_the_store(machine: Callable[[str], Machine]) -> None:
    here, there = machine("here"), machine("there")
    tree = here.current()
    lock = there.lock(there.trees.store.take(tree.path))
    unnamed = replace(lock, base=replace(lock.base, packages=()))
    assert there.trees.provide(unnamed).path.read_bytes() == tree.path.read_bytes()
    with pytest.raises(SourceUnreachable, match="the lock does not name its"):
        machine("elsewhere").trees.provide(unnamed)


def test_a_package_that_the_mirror_no_longer_has_comes_from_the_next_archive(tmp_path: Path) -> None:
    pin = published(tmp_path)
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "debian" / pin.file).rename(tmp_path / "snapshot" / pin.file)
    said: list[str] = []
    mirrors = (f"file://{tmp_path}/debian", f"file://{tmp_path}/snapshot")
    replace(from_archive(tmp_path, *mirrors), progress=said.append).fetch(BaseKind.DEBIAN, [pin])
    assert from_archive(tmp_path).store.has(f"sha256:{pin.sha256}")
    assert said[1] == f"1 of them from file://{tmp_path}/snapshot, as earlier archives lack them"


def test_a_changed_package_does_not_lead_to_the_next_archive(tmp_path: Path) -> None:
    pin = published(tmp_path)
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "debian" / pin.file).rename(tmp_path / "snapshot" / pin.file)
    (tmp_path / "debian" / pin.file).write_bytes(bytes(pin.size))
    with pytest.raises(VerificationFailed, match="the downloaded content has the digest") as refused:
        from_archive(tmp_path, f"file://{tmp_path}/debian", f"file://{tmp_path}/snapshot").fetch(BaseKind.DEBIAN, [pin])
    assert refused.value.hint == "use another mirror: --debian-mirror URL"


def test_a_base_of_ubuntu_is_made_from_the_archive_of_ubuntu(tmp_path: Path) -> None:
    pin = published(tmp_path)
    debian = from_archive(tmp_path)
    ubuntu = replace(debian.archives[BaseKind.DEBIAN], distribution=UBUNTU, mirrors=(f"file://{tmp_path}/debian",))
    trees = replace(debian, archives={**debian.archives, BaseKind.UBUNTU: ubuntu})
    base = BasePin(id="ubuntu-bionic", kind=BaseKind.UBUNTU, image="", digest=UNKNOWN, packages=(pin,))
    with pytest.raises(VerificationFailed, match="the packages of ubuntu-bionic produce a tree"):
        trees.provide(replace(good_lock(), base=base))
    with pytest.raises(SourceUnreachable, match="a base of Debian packages needs an archive of Debian"):
        from_archive(tmp_path / "empty").provide(replace(good_lock(), base=replace(base, kind=BaseKind.DEBIAN)))


SYSTEM = next(each for each in real_catalog().bases if each.id == "debian-bookworm")
INSTALLED = (*MINIMAL, *SYSTEM.packages)


def suite(folder: Path) -> Mirror:
    """A signed archive of Debian with the packages of a base and a program that needs a library."""
    mirror = Mirror(folder=folder)
    (folder / "debian" / "pool").mkdir(parents=True)
    paragraphs = []
    scripts = {"ca-certificates": {"postinst": b"#!/bin/sh\n"}}
    further = {"tool": {"Depends": "libtool"}, "libtool": {}}
    for name in dict.fromkeys((*INSTALLED, *further)):
        pin, path = deb(folder / "debian" / "pool", name, {f"opt/{name}": b"x"}, control=scripts.get(name))
        content = path.read_bytes()
        fields = {"Filename": pin.file, "Size": str(len(content)), "SHA256": sha256(content).hexdigest()}
        paragraphs.append(paragraph(name, **fields, **further.get(name, {})))
    mirror.complete(*paragraphs)
    return mirror


def test_a_base_is_made_of_the_newest_packages_of_a_suite_and_kept(tmp_path: Path) -> None:
    said: list[str] = []
    archives = {BaseKind.DEBIAN: suite(tmp_path).archive()}
    trees = replace(from_archive(tmp_path), archives=archives, progress=said.append)
    made = trees.unpack(SYSTEM)
    assert (made.id, made.suite, made.missing) == ("debian-bookworm", "bookworm", ())
    assert {pin.name for pin in made.packages} == set(INSTALLED)
    assert {member.path for member in of_tar(made.path)} >= {f"opt/{name}" for name in INSTALLED}
    assert trees.trees.current("debian-bookworm") == made
    assert "unpacked without running the scripts of 1 package: ca-certificates" in said


def test_own_packages_are_those_that_the_base_lacks(tmp_path: Path) -> None:
    trees = replace(from_archive(tmp_path), archives={BaseKind.DEBIAN: suite(tmp_path).archive()})
    base = trees.unpack(SYSTEM)
    found = trees.resolve(SYSTEM, ["tool", "python3"], base.packages)
    assert [pin.name for pin in found.pins] == ["libtool", "tool"]
    lock = replace(good_lock(), base=replace(good_lock().base, id=base.id), os_packages=found.pins)
    added = {member.path for member in trees.added(lock, of_tar(base.path))}
    assert {"opt/tool", "opt/libtool"} <= added
    assert trees.added(replace(lock, os_packages=()), of_tar(base.path)) == ()
