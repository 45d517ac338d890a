"""The workflow of GitHub Actions runs targets that exist, on the oldest supported Python too, and needs no secret."""

from __future__ import annotations

import re
import tomllib

import yaml

from tests.fakes.catalogs import ROOT

TEXT = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_its_commands_are_targets_and_scripts_of_this_repository() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    lines = [line for job in JOBS for line in commands(job)]
    named = {word for line in lines for word in re.findall(r"^make ([a-z-]+)$", line)}

    assert named == {"ci", "unit"}
    assert named <= targets
    assert all((ROOT / script).is_file() for line in lines for script in re.findall(r"\.ci/[a-z-]+", line))


def test_the_oldest_supported_python_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f">={JOBS['unit']['strategy']['matrix']['python'][0]}" == project["requires-python"]


def test_it_reads_only_and_has_no_secret() -> None:
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    assert "secrets." not in TEXT
