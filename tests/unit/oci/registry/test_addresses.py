"""Hosts of registries in names of images."""

from __future__ import annotations

import pytest

from envbuilder.oci.registry.addresses import host_of


@pytest.mark.parametrize("name", ["localhost/a", "localhost:5000/a:1", "registry.example/team/tf@sha256:0"])
def test_a_host_before_the_slash_is_a_registry(name: str) -> None:
    assert host_of(name) == name.partition("/")[0]


@pytest.mark.parametrize("name", ["tf", "tf:1", "envbuilder/tf:1", "./x.sif", "../x", "a/b.c"])
def test_other_names_are_in_no_registry(name: str) -> None:
    assert not host_of(name)
