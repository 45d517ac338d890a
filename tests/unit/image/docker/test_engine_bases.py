"""An engine gets the base of a lock once: loaded from this machine, or pulled from the mirror that is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import EngineUnavailable, SourceUnreachable
from envbuilder.core.http.web import Web
from envbuilder.core.references import ImageRef
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.docker.engine_bases import EngineBases
from envbuilder.image.docker.os_packages import OsPackageResolver
from envbuilder.image.plan.layers import image_reference
from envbuilder.lock.base_choice import Located, Refused
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin, PythonPin
from envbuilder.lock.resolve.apt import AptResolver
from envbuilder.lock.spec import Spec
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of
from envbuilder.oci.tar.writing import write
from tests.fakes.catalogs import good_lock, small_row
from tests.fakes.engine import FakeEngine, fake_image
from tests.fakes.resolver import made_up_sha256
from tests.unit.image.base.deb.debs import deb

ROW = small_row("tf-2.4-cuda11.0")
IMAGE_BASE = next(choice for choice in ROW.bases if choice.system.kind is BaseKind.IMAGE)
DEBIAN_BASE = next(choice for choice in ROW.bases if choice.system.kind is BaseKind.DEBIAN)
TOUCH = "'http://mirror.example/pool/curl_7.88.1-10_amd64.deb' curl_7.88.1-10_amd64.deb 3 SHA256:"


class Machine:
    """A machine that has one Debian tree and reaches no archive."""

    def __init__(self, folder: Path, engine: FakeEngine, mirror: str = "") -> None:
        self.said: list[str] = []
        self.store = Store(folder=folder / "store")
        trees = TreeStore(folder / "bases")
        debian = DebTrees(
            store=self.store,
            trees=trees,
            archives={
                BaseKind.DEBIAN: DebArchive(
                    mirrors=(), store=self.store, web=Web({}), seen=SeenReleases(folder / "seen")
                )
            },
            work=folder / "work",
            progress=self.said.append,
        )
        written = write([file_of("etc/debian_version", b"12\n", mtime=1)], folder / "tree.tar")
        self.tree = trees.put(
            DebTree(
                id="debian-new",
                path=written.path,
                digest=f"sha256:{written.sha256}",
                size=written.size,
                suite="bookworm",
                packages=(),
            )
        )
        self.engine = engine
        self.bases = EngineBases(
            engine=engine,
            debian=debian,
            registry_mirror=mirror,
            listener=lambda _: None,
            progress=self.said.append,
        )

    def lock(self, *os_packages: OsPackagePin, digest: str = "") -> Lock:
        base = BasePin(id="debian-new", kind=BaseKind.DEBIAN, image="", digest=digest or self.tree.digest, packages=())
        return replace(good_lock(), base=base, os_packages=os_packages)

    def held(self, lock: Lock) -> ImageInfo:
        found = self.engine.image(str(image_reference(lock)))
        assert found is not None
        return found


def test_a_tree_of_this_machine_is_loaded_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, FakeEngine())
    lock = machine.lock()
    assert machine.bases.provide(lock) == machine.bases.provide(lock) == str(image_reference(lock))
    assert machine.held(lock).diff_ids == (machine.tree.digest,)
    assert machine.said == ["loading debian-new into the engine"]
    assert not list((tmp_path / "bases").glob(".loading-*"))


def test_os_packages_are_a_second_layer_under_a_tag_of_their_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path, FakeEngine())
    pin, path = deb(tmp_path, "curl", {"usr/bin/curl": b"curl"})
    pin = replace(pin, sha256=machine.store.take(path).removeprefix("sha256:"), file="pool/curl.deb")
    lock = machine.lock(pin)
    assert machine.bases.provide(lock) != machine.bases.provide(machine.lock())
    first, second = machine.held(lock).diff_ids
    assert first == machine.tree.digest
    assert second != first


def test_a_tree_that_is_not_here_is_pulled_from_the_mirror_that_is_named(tmp_path: Path) -> None:
    digest = f"sha256:{made_up_sha256('tree')}"
    alone = Machine(tmp_path, FakeEngine())
    with pytest.raises(SourceUnreachable, match="is missing here"):
        alone.bases.provide(alone.lock(digest=digest))
    name = str(image_reference(alone.lock(digest=digest)).at_registry("localhost:5000"))
    tree = replace(fake_image("tree"), diff_ids=(digest,))
    (tmp_path / "mirrored").mkdir()
    mirrored = Machine(tmp_path / "mirrored", FakeEngine(published={name: tree}), "localhost:5000")
    assert mirrored.bases.provide(mirrored.lock(digest=digest)) == name


def resolver(machine: Machine) -> OsPackageResolver:
    return OsPackageResolver(bases=machine.bases, apt=AptResolver(run=machine.engine.run))


def located(base: BasePin) -> Located:
    choice = IMAGE_BASE if base.kind is BaseKind.IMAGE else DEBIAN_BASE
    return Located(choice=choice, base=base, python=PythonPin(version=choice.python, provider=choice.python_provider))


def test_apt_of_a_registry_image_says_which_files_it_would_install(tmp_path: Path) -> None:
    system = IMAGE_BASE.system
    name = system.image
    answer = f"{TOUCH}{'a' * 64}\n".encode()
    engine = FakeEngine(
        published={name: fake_image("cuda")}, results=[RunResult(status=0, stdout=answer, stderr=b"", timed_out=False)]
    )
    machine = Machine(tmp_path, engine)
    digest = engine.registry_digest(ImageRef.parse(name))
    found = resolver(machine).resolve(located(_pin(name, digest)), ("curl",), Spec(environment=ROW.id))
    assert [(pin.name, pin.version, pin.sha256) for pin in found.pins] == [("curl", "7.88.1-10", "a" * 64)]
    [asked] = engine.runs
    assert dict(asked.env)["WANTED"] == "curl"


def _pin(image: str, digest: str) -> BasePin:
    return BasePin(id=IMAGE_BASE.system.id, kind=BaseKind.IMAGE, image=image, digest=digest, packages=())


class NoEngine(FakeEngine):
    """An engine that does not answer."""

    def info(self) -> EngineInfo:
        raise EngineUnavailable("no container engine answers", hint="start one")


def test_only_a_registry_image_needs_an_engine_for_its_os_packages(tmp_path: Path) -> None:
    silent = resolver(Machine(tmp_path, NoEngine()))
    assert silent.refusal(DEBIAN_BASE) is None
    refused = silent.refusal(IMAGE_BASE)
    assert isinstance(refused, Refused)
    assert (refused.base, refused.hint) == (IMAGE_BASE.system.id, "start one")
    (tmp_path / "answering").mkdir()
    assert resolver(Machine(tmp_path / "answering", FakeEngine())).refusal(IMAGE_BASE) is None
