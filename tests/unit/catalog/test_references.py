"""A reference to a catalog is a directory, or a commit of a repository."""

from __future__ import annotations

import pytest

from envbuilder.catalog.references import DirectoryReference, GitReference, catalog_reference

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("path", ["catalog", "../team/catalog", "/srv/catalogs/team", "~/catalog", "a@b"])
def test_a_path_is_a_directory(path: str) -> None:
    assert catalog_reference(path) == DirectoryReference(path=path)


@pytest.mark.parametrize(
    ("address", "folder"),
    [
        ("https://git.example/team/catalog.git", ""),
        ("ssh://git@git.example/team/catalog", "tensorflow/catalog"),
        ("file:///srv/git/catalog.git", "catalog"),
    ],
)
@pytest.mark.parametrize("commit", [COMMIT, "a" * 64])
def test_an_address_with_a_commit_is_a_repository_and_is_written_as_it_was_read(
    address: str, folder: str, commit: str
) -> None:
    text = f"git+{address}@{commit}" + (f"#subdirectory={folder}" if folder else "")
    reference = catalog_reference(text)
    assert reference == GitReference(address=address, commit=commit, folder=folder)
    assert str(reference) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a directory"),
        ("a\nb", "must be a directory"),
        ("https://git.example/team/catalog.git", "must begin with git\\+"),
        ("git@git.example:team/catalog.git", "must begin with git\\+"),
        ("git+https://git.example/catalog.git", "full hash of a commit"),
        ("git+https://git.example/catalog.git@main", "a branch or a tag can move"),
        ("git+https://git.example/catalog.git@0123456", "full hash of a commit"),
        (f"git+ssh://git@git.example@{COMMIT.upper()}", "full hash of a commit"),
        (f"git+http://git.example/catalog.git@{COMMIT}", "must be an address with https://, ssh:// or file://"),
        (f"git+ext::sh -c id@{COMMIT}", "must be an address with"),
        (f"git+--upload-pack=id@{COMMIT}", "must be an address with"),
        (f"git+https:///catalog@{COMMIT}", "must be an address with"),
        (f"git+https://[x/catalog@{COMMIT}", "is not an address"),
        (f"git+https://me:secret@git.example/catalog.git@{COMMIT}", "must not have credentials"),
        (f"git+https://token@git.example/catalog.git@{COMMIT}", "must not have credentials"),
        (f"git+ssh://me:secret@git.example/catalog.git@{COMMIT}", "must not have credentials"),
        (f"git+https://git.example/catalog.git@{COMMIT}#egg=x", "must be subdirectory=DIR"),
        (f"git+https://git.example/catalog.git@{COMMIT}#subdirectory=../x", "a directory of the repository"),
        (f"git+https://git.example/catalog.git@{COMMIT}#subdirectory=/x", "a directory of the repository"),
        (f"git+https://git.example/catalog.git@{COMMIT}#subdirectory=", "must be subdirectory=DIR"),
    ],
)
def test_anything_else_is_refused_without_repeating_a_password(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        catalog_reference(text)
    assert "secret" not in str(caught.value)
