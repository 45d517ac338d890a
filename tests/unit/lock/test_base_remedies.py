"""What is said where no base of an environment is available."""

from __future__ import annotations

import pytest

from envbuilder.catalog.buildable import Buildability, Inventory, PackedPython
from envbuilder.catalog.selection import find
from envbuilder.core.errors import NoUsableBase
from envbuilder.core.versions import Release
from envbuilder.lock.base_remedies import explained
from tests.fakes.catalogs import real_catalog
from tests.unit.cli.running import CommandLine

CATALOG = real_catalog()
LOST = "nvidia-cuda-9.0-cudnn7"
NO_PYTHON = "no archive of Python 3.6"


def said(row: str, refusals: tuple[tuple[str, str], ...], available: Inventory, hint: str = "own hint") -> NoUsableBase:
    return explained(NoUsableBase(row, refusals, hint=hint), CATALOG, find(CATALOG, row), available)


def test_a_missing_interpreter_does_not_hide_that_the_base_is_gone() -> None:
    error = said("tf-1.7-cuda9.0", ((LOST, NO_PYTHON),), Inventory())
    image = "nvidia/cuda:9.0-cudnn7-runtime-ubuntu16.04"
    assert error.refusals == ((LOST, f"base image {image} is no longer published (since 2023-06-30); {NO_PYTHON}"),)


def test_the_hint_names_a_mirror_a_bundle_and_what_can_be_built_here() -> None:
    hint = said("tf-1.7-cuda9.0", ((LOST, NO_PYTHON),), Inventory()).hint
    assert hint.startswith("`envbuilder build tf-2.5-cuda11.2`, the nearest environment that can be built here; ")
    assert "--registry-mirror" in hint
    assert "--bundle" in hint
    assert "python pack" not in hint


def test_the_cpu_environment_of_the_release_comes_first_when_it_can_be_built() -> None:
    python = PackedPython(version=Release("3.6.15"), glibc=Release("2.17"))
    hint = said("tf-1.7-cuda9.0", ((LOST, "is gone"),), Inventory(pythons=(python,))).hint
    assert hint.startswith("`envbuilder build tf-1.7-cpu` or `envbuilder build tf-2.5-cuda11.2`")


def test_a_mirror_that_was_tried_is_not_advised_again() -> None:
    hint = said("tf-1.7-cuda9.0", ((LOST, "no manifest"),), Inventory(registry_mirror="mirror.example")).hint
    assert "--registry-mirror" not in hint
    assert "check that mirror.example has it" in hint


def test_where_only_the_interpreter_is_missing_its_own_hint_stays() -> None:
    hint = said("tf-1.7-cpu", (("debian-bookworm", NO_PYTHON),), Inventory()).hint
    assert hint == (
        "`envbuilder build tf-2.5-cpu`, the nearest environment that can be built here; for tf-1.7-cpu itself: own hint"
    )


def test_where_nothing_can_be_built_nothing_is_advised() -> None:
    hint = said("tf-2.16-cpu", (("debian-bookworm", "no mirror"),), Inventory(distributions=frozenset())).hint
    assert "envbuilder build" not in hint
    assert "--debian-mirror" in hint


@pytest.mark.parametrize("verb", [("build", "tf-1.7-cuda9.0"), ("bundle", "tf-1.7-cuda9.0", "-o", "b.tar")])
def test_commands_say_it(verb: tuple[str, ...], envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    ended = envbuilder(*verb)
    assert ended.status == 5
    assert "is no longer published (since 2023-06-30)" in ended.stderr
    assert "next: `envbuilder build tf-2.5-cuda11.2`" in ended.stderr


def test_what_needs_the_interpreter_that_was_looked_for_in_vain_is_not_offered() -> None:
    mirror = Inventory(standalone=Buildability.YES, engine=False)
    refusals = (("debian-bookworm", "no archive of Python 3.8"), ("nvidia-cuda-11.0.3-cudnn8", "no engine"))
    hint = said("tf-2.4-cuda11.0", refusals, mirror).hint
    assert hint.startswith("`envbuilder build tf-2.5-cuda11.2`, the nearest environment that can be built here; ")
    assert "own hint" in hint


def test_an_archive_that_may_be_downloaded_comes_before_a_withdrawn_image() -> None:
    refusals = (("debian-bookworm", NO_PYTHON), (LOST, "no manifest"))
    licensed = Inventory(unaccepted=frozenset({"nvidia-developer", "nvidia-developer-download"}))
    hint = said("tf-1.7-cuda9.0", refusals, licensed, hint="pack Python 3.6").hint
    assert "for tf-1.7-cuda9.0 itself: pack Python 3.6; then build it with --accept-nvidia-eula" in hint
    assert "--registry-mirror" not in hint
