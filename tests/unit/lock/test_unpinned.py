"""Locks that state what the catalog knows, without fetching a base or an interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind, Environment
from envbuilder.core.versions import Release
from envbuilder.image.plan.layers import plan
from envbuilder.image.render import rendered
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.closures import Chosen
from envbuilder.lock.create import lock
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin, PythonPin
from envbuilder.lock.lockfile import dump, load
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.lock.spec import Spec
from envbuilder.lock.unpinned import UnpinnedBases, UnpinnedOsPackages, UnpinnedPythons
from tests.fakes.catalogs import MATRICES, TEMPLATES, real_catalog, real_row
from tests.fakes.ports import lock_ports
from tests.fakes.resolver import made_up_sha256

CATALOG = real_catalog()
LOST = "nvidia-cuda-9.0-cudnn7"
KEPT = BasePin(
    id="debian-bookworm",
    kind=BaseKind.DEBIAN,
    image="",
    digest=f"sha256:{made_up_sha256('tree')}",
    packages=(OsPackagePin(name="libc6", version="2.36"),),
)


class NoIndex:
    """A `Resolver` that must not be asked."""

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        raise AssertionError(f"the index was asked for {wanted.requirements}")


class NoPythons:
    """A `PythonSource` with an empty cache."""

    def locate(self, version: Release, glibc: Release, sources: Sources) -> PythonPin | Refused:  # noqa: ARG002
        return Refused(base="", reason=f"no archive of Python {version}")


def unpinned(spec: Spec, refused: Mapping[str, str] | None = None, *, kept: BasePin | None = None) -> Lock:
    bases = UnpinnedBases(
        kept=lambda system: kept if kept and kept.id == system.id else None, refused=dict(refused or {})
    )
    ports = replace(
        lock_ports(resolver=NoIndex(), shipped=ClosureFolder(folder=MATRICES / "locks")),
        bases=dict.fromkeys(BaseKind, bases),
        pythons=UnpinnedPythons(kept=NoPythons()),
        os_packages=UnpinnedOsPackages(),
    )
    return lock(CATALOG, spec, ports)


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_every_environment_is_stated_on_every_base_without_asking_anybody(row: Environment) -> None:
    for choice in row.bases:
        made = unpinned(Spec(environment=row.id, base=choice.system.id))
        assert (made.base.id, made.python.version) == (choice.system.id, choice.python)
        assert made.packages
        is_complete = made.base.digest and not made.os_packages and not made.python.file
        assert bool(made.unpinned) is not bool(is_complete)
        assert load(dump(made), "file") == made


def test_what_is_not_pinned_is_named() -> None:
    made = unpinned(Spec(environment="tf-1.7-cuda9.0", base=LOST))
    assert made.unpinned == (
        f"base {LOST}",
        "OS packages libcudnn7, libgomp1",
        "interpreter archive of Python 3.6",
    )
    assert made.cuda is not None
    assert (str(made.cuda.cuda), str(made.cuda.cudnn), str(made.cuda.driver)) == ("9.0", "7.0.5", "384.81")


def test_a_base_of_the_cache_and_a_digest_of_the_catalog_are_pinned() -> None:
    assert unpinned(Spec(environment="tf-2.15-cpu"), kept=KEPT).unpinned == ()
    on_image = unpinned(Spec(environment="tf-2.15-cuda12.2", base="nvidia-cuda-12.2.2-cudnn8"))
    assert on_image.base.digest.startswith("sha256:2d913b09")
    assert [text.partition(" python3")[0] for text in on_image.unpinned] == ["OS packages"]


def test_a_base_that_was_passed_over_is_in_the_lock() -> None:
    first, second = (choice.system.id for choice in real_row("tf-2.10-cuda11.2").bases[:2])
    made = unpinned(Spec(environment="tf-2.10-cuda11.2"), {first: "may be gone"})
    assert (made.base.id, made.refused) == (second, (first,))


def test_it_has_the_layers_of_a_lock_that_pins_everything() -> None:
    spec = Spec(environment="tf-2.15-cpu", base="debian-bookworm")
    loose, full = unpinned(spec), unpinned(spec, kept=KEPT)
    assert [layer.id for layer in plan(loose, "d").layers] == [layer.id for layer in plan(full, "d").layers]
    assert loose.packages == full.packages


def test_its_dockerfile_says_what_is_not_pinned_and_starts_from_no_other_image() -> None:
    lost = unpinned(Spec(environment="tf-1.7-cuda9.0", base=LOST))
    files = {text.path: text.text for text in rendered(lost, TEMPLATES).texts}
    dockerfile = files["Dockerfile"]
    assert "# not pinned: base nvidia-cuda-9.0-cudnn7;" in dockerfile
    assert "ARG BASE=nvidia/cuda:9.0-cudnn7-runtime-ubuntu16.04\n" in dockerfile
    assert "python/cpython-3.6-x86_64-linux-gnu.tar.gz" in dockerfile
    debian = rendered(unpinned(Spec(environment="tf-2.15-cpu")), TEMPLATES)
    assert "ARG BASE=envbuilder/base:debian-bookworm-unpinned\n" in {t.path: t.text for t in debian.texts}["Dockerfile"]
