"""Where archives of publishers come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.lock.publishers import parse_publisher, place_of, publisher_place, relative_to
from tests.fakes.catalogs import real_catalog

FACTS = real_catalog().archives


@pytest.mark.parametrize("text", ["/media/usb", "archives", "https://site.example/nvidia/", "http://127.0.0.1:8000/"])
def test_a_directory_or_a_url_is_taken(text: str) -> None:
    assert publisher_place(text) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a URL or a directory"),
        ("ftp://site.example/", "is not an http:// or https:// URL"),
        ("https:///files", "is not an http:// or https:// URL"),
        ("https://[bad/", "is not a URL"),
        ("https://me:secret@site.example/", "credentials"),
        ("https://site.example/?token=1", "query"),
    ],
)
def test_another_text_is_refused_without_its_credentials(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        publisher_place(text)
    assert "secret" not in str(caught.value)


def test_name_and_place_are_split_at_the_first_equals_sign() -> None:
    assert parse_publisher("nvidia-developer=/a=b") == ("nvidia-developer", "/a=b")
    with pytest.raises(ValueError, match="is not NAME=URL or NAME=DIR"):
        parse_publisher("/usb")


def test_a_place_of_its_own_comes_before_that_for_all_and_before_the_catalog() -> None:
    places = {"*": "/usb", "nvidia-developer": "/mirror"}
    assert place_of("nvidia-developer", places, FACTS) == "/mirror"
    assert place_of("nvidia-developer-download", places, FACTS) == "/usb"
    assert place_of("nvidia-developer", {}, FACTS) == "https://developer.nvidia.com/"
    assert place_of("pypi", {}, FACTS) == ""


def test_a_directory_is_relative_to_the_spec_and_a_url_is_not() -> None:
    assert relative_to("usb", Path("/project")) == "/project/usb"
    assert relative_to("/usb", Path("/project")) == "/usb"
    assert relative_to("https://site.example/", Path("/project")) == "https://site.example/"
