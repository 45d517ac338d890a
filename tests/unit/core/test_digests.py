"""sha256 digests."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.digests import digest_of, digest_of_file, is_digest, sha256_digest


@given(content=st.binary())
def test_what_is_made_is_accepted(content: bytes) -> None:
    made = digest_of(content)
    assert sha256_digest(made) == made == f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize(
    "other",
    ["", "sha256:", "0" * 64, "sha256:" + "0" * 63, "sha256:" + "A" * 64, "sha256:" + "0" * 64 + "\n", "../x", None, 1],
)
def test_anything_else_is_refused(other: object) -> None:
    assert not is_digest(other)
    with pytest.raises(ValueError, match="is not a sha256 digest"):
        sha256_digest(other)


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(ValueError, match="is not a sha256 digest") as caught:
        sha256_digest("x" * 10_000)
    assert len(str(caught.value)) < 120


def test_a_file_has_the_digest_of_its_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    assert digest_of_file(path) == digest_of(b"content")
