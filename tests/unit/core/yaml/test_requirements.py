"""Names and requirements as people write them."""

from __future__ import annotations

import pytest

from envbuilder.core.yaml.requirements import os_package, requirement, sha256


@pytest.mark.parametrize("text", ["six", "six==1.16.0", "ray[tune]>=2,<3", "Scikit_Learn < 1.3", "torch==2.1.0+cpu"])
def test_a_requirement_comes_back_unchanged(text: str) -> None:
    assert requirement(text) == text


@pytest.mark.parametrize(
    "text", ["", "six 1", "-r more.txt", "--index-url x", "six; sys_platform == 'x'", "six @ file:///x", "six\n-r y"]
)
def test_what_is_more_than_name_and_versions_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"requirement|marker or a URL"):
        requirement(text)


@pytest.mark.parametrize("text", ["git", "libstdc++6", "libcudnn7=7.0.5.15-1+cuda9.0", "xx=1:2~rc1"])
def test_an_os_package_comes_back_unchanged(text: str) -> None:
    assert os_package(text) == text


@pytest.mark.parametrize("text", ["", "g", "Git", "git=", "git; ls", "git curl", "-y", "$(ls)", "git\n"])
def test_what_is_no_os_package_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a package name"):
        os_package(text)


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "sha256:" + "0" * 57])
def test_what_is_no_sha256_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sha256"):
        sha256(text)
