"""The lock that a command needs: that of a file while its spec says the same, that of the cache, or a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from envbuilder.core.errors import UsageError
from envbuilder.core.files import write_text
from envbuilder.lock.create import lock
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump, read_lock
from envbuilder.lock.obtain import LockCache, keep_image, lock_of_file, refuse_unpinned
from envbuilder.lock.spec import Spec
from envbuilder.lock.targets import LockTarget
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat
from tests.fakes.catalogs import good_lock, small_catalog
from tests.fakes.ports import HOOK, PROBE, NothingShipped, lock_ports
from tests.fakes.resolver import made_up_sha256

CATALOG = small_catalog()
SPEC = Spec(environment="tf-2.4-cuda11.0")
LAYER, CONFIG, MANIFEST = (f"sha256:{made_up_sha256(name)}" for name in ("layer", "config", "manifest"))
IMAGE = ImagePin(
    format=LayerFormat.TAR,
    manifest=MANIFEST,
    config=CONFIG,
    layers=(
        ImageLayerPin(
            id="base",
            key=LAYER,
            diff_id=LAYER,
            blob=Descriptor(media_type=LayerFormat.TAR.media_type, digest=LAYER, size=1),
        ),
    ),
)


def made(spec: Spec = SPEC) -> Lock:
    return lock(CATALOG, spec, lock_ports())


def file_target(lock: Lock, spec: Spec | None = None) -> LockTarget:
    return LockTarget(path=Path("vision/envbuilder.lock"), lock=lock, spec=spec)


def test_a_lock_of_a_file_gets_a_name_and_the_sources_of_its_spec() -> None:
    spec = replace(SPEC, sources=Sources(registry_mirror="localhost:5000", index="https://index.example/simple"))
    found, sources = lock_of_file(CATALOG, file_target(made(), spec), Sources(index="https://other.example/simple"))
    assert found == replace(made(), name="vision")
    assert (sources.registry_mirror, sources.index) == ("localhost:5000", "https://other.example/simple")


def test_a_lock_keeps_the_name_of_its_spec() -> None:
    spec = replace(SPEC, name="own")
    assert lock_of_file(CATALOG, file_target(made(spec), spec), Sources())[0].name == "own"


def test_a_lock_that_its_spec_has_left_behind_is_refused_with_what_changed() -> None:
    with pytest.raises(UsageError, match=r"is out of date; changed since it was created:\n  .*packages") as refused:
        lock_of_file(CATALOG, file_target(made(), replace(SPEC, packages=("pandas",))), Sources())
    assert refused.value.hint == "`envbuilder lock`, then build again"


def test_a_lock_has_chosen_base_and_release() -> None:
    with pytest.raises(UsageError, match="already pins TensorFlow"):
        lock_of_file(CATALOG, file_target(made()), Sources(), tensorflow=Version("2.4.3"))
    with pytest.raises(UsageError, match="already pins its base"):
        lock_of_file(CATALOG, file_target(made()), Sources(), base="debian-new")


def test_a_lock_that_does_not_pin_everything_is_refused() -> None:
    refuse_unpinned(made(), "envbuilder.lock")
    base = replace(made().base, digest="")
    with pytest.raises(UsageError, match=r"^envbuilder\.lock cannot be built: it does not pin base"):
        refuse_unpinned(replace(made(), base=base), "envbuilder.lock")


class Cache:
    """A cache whose locks are counted, and what was said."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.locked: list[Spec] = []
        self.locks = LockCache(
            folder=folder,
            catalog=CATALOG,
            shipped=NothingShipped(),
            own_tools=(HOOK, PROBE),
            progress=self.said.append,
        )

    def lock(self, spec: Spec) -> Lock:
        self.locked.append(spec)
        return made(spec)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "locks")


def test_a_row_is_locked_once(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "locks" / "tf-2.4-cuda11.0" / "envbuilder.lock"
    assert cache.locks.find(SPEC) is None
    first = cache.locks.obtain(SPEC, cache.lock)
    assert cache.locks.obtain(SPEC, cache.lock) == first == cache.locks.find(SPEC) == read_lock(path)
    assert cache.locked == [SPEC]
    assert cache.said == [f"wrote the lock {path}", f"using the lock {path}", f"using the lock {path}"]


def test_each_base_of_a_row_has_a_lock_of_its_own(cache: Cache) -> None:
    specs = [SPEC, replace(SPEC, base="debian-new"), replace(SPEC, base="image-11.0")]
    bases = [cache.locks.obtain(spec, cache.lock).base.id for spec in (*specs, *specs)]
    assert bases == ["image-11.0", "debian-new", "image-11.0"] * 2
    assert cache.locked == specs


def older_tools(kept: Lock) -> Lock:
    return replace(kept, tools=tuple(replace(pin, sha256=made_up_sha256(f"old {pin.name}")) for pin in kept.tools))


def other_inputs(kept: Lock) -> Lock:
    return replace(kept, inputs=())


@pytest.mark.parametrize("change", [older_tools, other_inputs], ids=["tools of another version", "a row that changed"])
def test_a_kept_lock_that_a_new_one_would_differ_from_is_made_again(
    cache: Cache, tmp_path: Path, change: Callable[[Lock], Lock]
) -> None:
    first = cache.locks.obtain(SPEC, cache.lock)
    write_text(tmp_path / "locks" / "tf-2.4-cuda11.0" / "envbuilder.lock", dump(change(first)))
    assert cache.locks.find(SPEC) is None
    assert cache.locks.obtain(SPEC, cache.lock) == first
    assert len(cache.locked) == 2


def test_a_kept_lock_that_cannot_be_read_is_made_again(cache: Cache, tmp_path: Path) -> None:
    first = cache.locks.obtain(SPEC, cache.lock)
    write_text(tmp_path / "locks" / "tf-2.4-cuda11.0" / "envbuilder.lock", "schema: 1\n")
    assert cache.locks.obtain(SPEC, cache.lock) == first


def test_the_image_of_a_lock_is_kept_where_that_lock_is_and_nowhere_else(cache: Cache, tmp_path: Path) -> None:
    here = cache.locks.obtain(SPEC, cache.lock)
    other = cache.locks.obtain(replace(SPEC, base="debian-new"), cache.lock)
    keep_image(tmp_path / "locks", replace(here, image=IMAGE))
    keep_image(tmp_path / "locks", replace(good_lock(), image=IMAGE))
    found = {path.parent.name: read_lock(path) for path in (tmp_path / "locks").glob("*/envbuilder.lock")}
    assert found == {SPEC.environment: replace(here, image=IMAGE), f"{SPEC.environment}@debian-new": other}
