"""`--on` with the catalog of a team and a configuration file: a real command line, and processes of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.catalogs import ROOT
from tests.fakes.teams import put

ROW = "tf-2.15-cpu"
OWN = (f"{ROW}-audio", f"{ROW}-vision")
UNREACHABLE = "http://127.0.0.1:1/simple"


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A catalog with two environments, whose packages ship with it, so that no index is needed; without evidence."""
    folder = tmp_path / "team"
    put(folder / "catalog.yaml", 'schema: 1\nname: "vision"\n')
    for own in OWN:
        for kind in ("environments", "locks", "evidence"):
            text = (ROOT / "matrices" / kind / f"{ROW}.yaml").read_text(encoding="utf-8")
            text = text.replace(f'id: "{ROW}"', f'id: "{own}"')
            put(folder / kind / f"{own}.yaml", re.sub(r'  - grade: "resolved".*', "", text, flags=re.DOTALL))
    return folder


def test_a_team_proves_its_environments_elsewhere_with_the_configuration_of_the_caller(
    team: Path, tmp_path: Path
) -> None:
    # Options of the file count as typed; the workers read the same file, and must not fan out again.
    options = '[command.catalog.prove]\non = "local:2"\ntier = "resolved"\n'
    configuration = f'index = "{UNREACHABLE}"\ncatalogs = ["team"]\n{options}'
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("ENVBUILDER_", "UV_", "PIP_"))}
    environ |= {
        "ENVBUILDER_CACHE": str(tmp_path / "cache"),
        "ENVBUILDER_CONFIG": str(put(tmp_path / "config.toml", configuration)),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-P", "-m", "envbuilder", "catalog", "prove", f"{ROW}-*"]
    ended = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told = " ".join(ended.stdout.split())
    for own in OWN:
        assert f"{own}: resolved: packages for Python" in told
        evidence = (team / "evidence" / f"{own}.yaml").read_text(encoding="utf-8")
        assert evidence.count('grade: "resolved"') == 2
    assert not list((ROOT / "matrices" / "evidence").glob(f"{ROW}-*"))
