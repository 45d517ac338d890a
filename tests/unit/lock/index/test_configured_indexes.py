"""Which index uv asks by itself: what its settings name, else what its help says."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from envbuilder.image.base.uv_tool import find_uv
from envbuilder.lock.index.configured_indexes import configured_index, default_index


def test_the_real_uv_tells_its_default() -> None:
    parts = urlsplit(default_index(find_uv(), timeout=30))
    assert parts.scheme == "https"
    assert parts.hostname
    assert parts.path.endswith("simple")


@pytest.mark.parametrize("body", ["exit 1", "echo nothing about it", "sleep 30"])
def test_a_uv_that_does_not_tell_names_none(tmp_path: Path, body: str) -> None:
    program = tmp_path / "uv"
    program.write_text(f"#!/bin/sh\nexec {body}\n" if body.startswith("sleep") else f"#!/bin/sh\n{body}\n", "utf-8")
    program.chmod(0o755)
    assert default_index(program, timeout=0.5) == ""
    assert default_index(tmp_path / "no-uv", timeout=0.5) == ""


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ('index-url = "https://one.example/simple"', "https://one.example/simple"),
        ('[pip]\nindex-url = "https://two.example/simple"', "https://two.example/simple"),
        ('[[index]]\nurl = "https://three.example/simple"\ndefault = true', "https://three.example/simple"),
        ('[[index]]\nurl = "https://four.example/simple"', ""),
        ("index = 3\npip = 4", ""),
        ("not toml", ""),
    ],
)
def test_a_settings_file_may_name_one(tmp_path: Path, settings: str, named: str) -> None:
    file = tmp_path / "uv.toml"
    file.write_text(settings, encoding="utf-8")
    assert configured_index({"UV_CONFIG_FILE": str(file)}, tmp_path) == (named, str(file) if named else "")


def test_the_settings_of_the_user_are_found(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    file.write_text('index-url = "https://one.example/simple"', encoding="utf-8")
    assert configured_index({}, tmp_path) == ("https://one.example/simple", str(file))
