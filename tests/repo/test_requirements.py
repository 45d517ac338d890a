"""The pinned development dependencies are complete, have hashes, and satisfy pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.fakes.catalogs import ROOT

PINS = ROOT / ".ci" / "requirements.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    version: str
    requirement: Requirement
    hashes: int

    def holds(self, python: str) -> bool:
        return self.requirement.marker is None or self.requirement.marker.evaluate(machine(python))


def machine(python: str, extra: str = "") -> dict[str, str]:
    return {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "extra": extra,
    }


def pins() -> list[Pin]:
    found = []
    for line in PINS.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        requirement = Requirement(HASH.sub("", line).strip())
        (version,) = requirement.specifier
        assert version.operator == "=="
        found.append(Pin(version=version.version, requirement=requirement, hashes=len(HASH.findall(line))))
    return found


def pins_for(python: str) -> dict[str, Pin]:
    """The pins that hold for a Python; a package may have another version for another Python."""
    holding = [pin for pin in pins() if pin.holds(python)]
    found: dict[str, Pin] = {canonicalize_name(pin.requirement.name): pin for pin in holding}
    assert len(found) == len(holding), "a package is pinned twice for one Python"
    return found


def asked_for() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    optional = project["project"]["optional-dependencies"]
    lists = (project["build-system"]["requires"], project["project"]["dependencies"], *optional.values())
    return [Requirement(text) for each in lists for text in each]


def needed_by(requirement: Requirement, python: str) -> Iterator[Requirement]:
    """What an installed distribution needs, with the extras that are asked for."""
    try:
        texts = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:
        return  # Installed by the next `make setup`: its metadata cannot be read yet.
    for needed in (Requirement(text) for text in texts):
        environments = [machine(python, extra) for extra in ("", *requirement.extras)]
        if needed.marker is None or any(needed.marker.evaluate(each) for each in environments):
            yield needed


def test_every_pin_has_a_hash_and_nothing_names_an_index() -> None:
    assert [pin for pin in pins() if not pin.hashes] == []
    assert not re.search(r"://|--(extra-)?index|--find-links", PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_satisfy_what_the_project_asks_for(python: str) -> None:
    pinned = pins_for(python)
    wrong = [
        str(each) for each in asked_for() if not each.specifier.contains(pinned[canonicalize_name(each.name)].version)
    ]
    assert wrong == []


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_hold_everything_that_the_pinned_need(python: str) -> None:
    pinned, waiting, seen = pins_for(python), asked_for(), set[str]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{requirement} is not pinned for Python {python}: make pins"
        assert requirement.specifier.contains(pinned[name].version), f"{requirement} is pinned wrongly: make pins"
        if str(requirement) not in seen:
            seen.add(str(requirement))
            waiting += needed_by(requirement, python)
    assert len(seen) > len(asked_for())
