"""Settings of uv in the current directory belong to whoever wrote the repository: real uv, a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.core.uv import Uv
from envbuilder.image.base.uv_tool import find_uv
from envbuilder.lock.index.uv_index import UvIndex
from tests.fakes.private_index import FILE, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(protected=False) as made:
        yield made


def listed(folder: Path, index: str) -> list[str]:
    asked = UvIndex(
        uv=Uv(
            program=find_uv(),
            cache=folder / "cache",
            environ={"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"},
            index=index,
        )
    )
    return [file.file for file in asked.files("tinypkg", "1.0")]


@pytest.mark.parametrize(
    ("name", "table"), [("uv.toml", ""), ("uv.toml", "[pip]\n"), ("pyproject.toml", "[tool.uv]\n")]
)
@pytest.mark.parametrize("below", [".", "deep/er"])
def test_an_index_that_they_name_is_not_asked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, table: str, below: str
) -> None:
    text = f'{table}extra-index-url = ["{server.address}/simple/"]\n'
    head = '[project]\nname = "x"\nversion = "1"\n' if name == "pyproject.toml" else ""
    repository = tmp_path / "repository"
    (repository / below).mkdir(parents=True)
    (repository / name).write_text(head + text, encoding="utf-8")
    monkeypatch.chdir(repository / below)
    assert listed(tmp_path, f"{server.address}/empty/") == []
    assert not [path for path, _ in server.seen if path.startswith("/simple")]
    assert listed(tmp_path, f"{server.address}/simple/") == [FILE]


def test_an_index_that_the_user_names_is_asked(server: Server, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".config" / "uv" / "uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'extra-index-url = ["{server.address}/simple/"]\n', encoding="utf-8")
    assert listed(tmp_path, f"{server.address}/empty/") == [FILE]
