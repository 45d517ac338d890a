"""Names of images and distributions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.digests import is_digest
from envbuilder.core.references import ImageRef, normalized, registry_address

DIGEST = "sha256:" + "0123456789abcdef" * 4
NAMES = st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+){0,2}", fullmatch=True)
TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
HOSTS = st.just("") | st.builds("{}:{}/".format, NAMES, st.integers(1, 65535))
REPOSITORIES = st.builds(lambda host, path: host + "/".join(path), HOSTS, st.lists(NAMES, min_size=1, max_size=3))
REFERENCES = st.builds(
    lambda repository, tag, digest: ImageRef(repository=repository, tag=tag, digest=digest),
    REPOSITORIES,
    TAGS | st.just(""),
    st.sampled_from(["", DIGEST]),
).filter(lambda reference: bool(reference.tag or reference.digest))


@given(REFERENCES)
def test_a_printed_reference_parses_as_itself(reference: ImageRef) -> None:
    assert ImageRef.parse(str(reference)) == reference


@given(REFERENCES.filter(lambda reference: ":" not in reference.repository))
def test_a_mirror_keeps_tag_and_digest(reference: ImageRef) -> None:
    mirrored = ImageRef.parse(str(reference.at_registry("localhost:5000")))
    assert (mirrored.tag, mirrored.digest) == (reference.tag, reference.digest)
    assert mirrored.repository == f"localhost:5000/{reference.repository}"


@given(st.text(max_size=30))
def test_any_text_is_a_reference_or_a_value_error(text: str) -> None:
    try:
        assert ImageRef.parse(text).repository
    except ValueError:
        return


def test_without_tag_and_digest_the_tag_is_latest() -> None:
    assert ImageRef.parse("localhost:5000/team/tf") == ImageRef(repository="localhost:5000/team/tf", tag="latest")
    assert ImageRef.parse(f"tf@{DIGEST}") == ImageRef(repository="tf", digest=DIGEST)


@pytest.mark.parametrize(
    "text",
    ["", "Upper/case", "name:", ":tag", "a//b", "a:t:u", "a b", f"a@{DIGEST[:-1]}", "a@", "a:" + "t" * 129, "a\n"],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an? "):
        ImageRef.parse(text)


def test_a_digest_has_its_algorithm_and_lower_case_digits() -> None:
    assert is_digest(DIGEST)
    assert not any(map(is_digest, (DIGEST.upper(), DIGEST[7:], DIGEST + "0", DIGEST + "\n", "")))


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,10}[A-Za-z0-9])?", fullmatch=True))
def test_normalizing_twice_changes_nothing(name: str) -> None:
    assert normalized(normalized(name)) == normalized(name)


@pytest.mark.parametrize("text", ["", "-x", "x-", "x y", "x==1", "x;y", "ä"])
def test_what_is_no_distribution_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a distribution name"):
        normalized(text)


@pytest.mark.parametrize("text", ["registry.example", "localhost:5000", "[::1]:5000", "h.example:443/proxy/hub"])
def test_the_place_of_a_registry(text: str) -> None:
    assert registry_address(text) == text


@pytest.mark.parametrize(
    "text", ["", "me:secret@h", "secret@h:5000", "https://h", "h/Upper", "h:port", "h ", "-x y", "h/../x", "h?x"]
)
def test_what_is_no_place_of_a_registry_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST\[:PORT\]") as caught:
        registry_address(text)
    assert "secret" not in str(caught.value)
