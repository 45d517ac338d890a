"""Names of specs and locks: what each grammar takes, and near misses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from envbuilder.core import names

HOSTILE = ("", "-x", "../x", "a/b", "a b", "a\n", "$(id)", "`id`", "a;b", "x" * 300)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "parse",
    [
        names.row_id,
        names.layer_id,
        names.python_version,
        names.distribution_version,
        names.distribution_file,
        names.debian_name,
        names.debian_version,
        names.debian_file,
        names.library_name,
        names.account_name,
    ],
)
def test_what_could_be_a_path_an_option_or_code_is_no_name(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        parse(text)


@pytest.mark.parametrize("text", ["", "a", "a/b/c", "a b/c", "-a/b", "a/"])
def test_a_media_type_has_two_parts(text: str) -> None:
    with pytest.raises(ValueError, match="is not a media type"):
        names.media_type(text)


@pytest.mark.parametrize("text", ["", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a\n", " a", "a ", "ä" * 128])
def test_a_file_name_is_one_part_of_a_path(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a file"):
        names.file_name(text)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (names.row_id, "tf-2.4-cuda11.0"),
        (names.row_id, "nvidia-cuda-11.2.2-cudnn8"),
        (names.layer_id, "cuda.nvidia-cudnn-cu11"),
        (names.file_name, "my archive (1).tar.gz"),
        (names.distribution_version, "2.1.0+cu118"),
        (names.distribution_version, "1!2.0rc1.post3.dev4"),
        (names.distribution_file, "Markdown-3.3.7-py3-none-any.whl"),
        (names.distribution_file, "torch-2.0.0+cu118-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"),
        (names.distribution_file, "termcolor-1.1.0.tar.gz"),
        (names.debian_name, "libstdc++6"),
        (names.debian_version, "2:1.0~rc1-1+deb12u1"),
        (names.debian_file, "pool/main/g/git/git_1%3a2.39.5-0+deb12u2_amd64.deb"),
        (names.library_name, "libnvinfer_plugin.so.8"),
        (names.account_name, "_build-1"),
        (names.media_type, "application/vnd.oci.image.layer.v1.tar+gzip"),
    ],
)
def test_honest_names_come_back_unchanged(parse: Callable[[str], str], text: str) -> None:
    assert parse(text) == text


@pytest.mark.parametrize(
    ("file", "name", "version", "holds"),
    [
        ("Keras_Applications-1.0.8-py3-none-any.whl", "keras-applications", "1.0.8", True),
        ("Keras-Applications-1.0.8.tar.gz", "keras-applications", "1.0.8", True),
        ("six-1.16.0-py2.py3-none-any.whl", "six", "1.16", True),
        ("six-1.16.0-py2.py3-none-any.whl", "six", "1.15.0", False),
        ("sixx-1.16.0-py2.py3-none-any.whl", "six", "1.16.0", False),
        ("gast-0.2.2.tar.gz", "six", "0.2.2", False),
        ("six-x-py3-none-any.whl", "six", "1.0", False),
    ],
)
def test_a_file_belongs_to_its_release(file: str, name: str, version: str, *, holds: bool) -> None:
    assert names.is_file_of(file, name, version) is holds


@pytest.mark.parametrize("text", ["", "/a", "a//b", "a/", ".", "..", "a/../b", "a/..", "./a", "-a/b", "a b", "a\n"])
def test_a_member_of_an_archive_does_not_lead_out_of_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a relative path"):
        names.archive_member(text)


@pytest.mark.parametrize("text", ["a", "cuda/lib64/libcudnn.so.7", "..a/b..", ".hidden"])
def test_a_member_of_an_archive_is_kept_as_it_is(text: str) -> None:
    assert names.archive_member(text) == text


def test_only_the_name_root_is_that_of_a_privileged_user() -> None:
    with pytest.raises(ValueError, match="unprivileged"):
        names.account_name("root")
    assert names.account_name("rooted") == "rooted"


@pytest.mark.parametrize("text", ["six", "six==1.16.0", "ray[tune]>=2,<3", "Scikit_Learn < 1.3", "torch==2.1.0+cpu"])
def test_a_requirement_comes_back_unchanged(text: str) -> None:
    assert names.requirement(text) == text


@pytest.mark.parametrize(
    "text", ["", "six 1", "-r more.txt", "--index-url x", "six; sys_platform == 'x'", "six @ file:///x", "six\n-r y"]
)
def test_what_is_more_than_name_and_versions_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"requirement|marker or a URL"):
        names.requirement(text)


@pytest.mark.parametrize("text", ["git", "libstdc++6", "libcudnn7=7.0.5.15-1+cuda9.0", "xx=1:2~rc1"])
def test_an_os_package_comes_back_unchanged(text: str) -> None:
    assert names.os_package(text) == text


@pytest.mark.parametrize("text", ["", "g", "Git", "git=", "git; ls", "git curl", "-y", "$(ls)", "git\n"])
def test_what_is_no_os_package_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a package name"):
        names.os_package(text)


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "sha256:" + "0" * 57])
def test_what_is_no_sha256_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sha256"):
        names.sha256(text)
