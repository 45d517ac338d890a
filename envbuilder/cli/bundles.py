"""Bundles on the command line."""

from __future__ import annotations

from pathlib import Path

from envbuilder.cli.composition import Composition
from envbuilder.model.locks import Lock
from envbuilder.workflows.bundle import open_bundle


def opened_bundle(composition: Composition, path: Path) -> Lock:
    """Take the files of a bundle into the store; gives its lock."""
    composition.say(f"taking the files of {path} into the store")
    return open_bundle(path, composition.store)
