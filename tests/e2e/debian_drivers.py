"""Driver libraries that Debian ships, unpacked beside the system: nothing is installed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

_KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror() -> str:
    """Where this host itself takes Debian from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(ORIGIN)", "Created-By: Packages"],
        capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    rows = [line.split("|") for line in listed if line]
    return next(uri for uri, release, origin in rows if origin == "Debian" and "-" not in release)


def driver_libraries(folder: Path, wanted: Mapping[str, str]) -> dict[str, Path]:
    """Fetch `libcuda.so.1` of some suites.

    Args:
        folder: Empty; lists, packages and libraries are put there.
        wanted: Suite to the package that has the library, `libcuda1` or one of another branch.

    Returns:
        Suite to the folder that has its `libcuda.so.1`.
    """
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True)
    sources, uri = folder / "sources.list", mirror()
    lines = [f"deb [signed-by={_KEY} arch=amd64] {uri} {suite} non-free\n" for suite in wanted]
    sources.write_text("".join(lines), "utf-8")
    settings = {
        "Dir::Etc::SourceList": sources, "Dir::Etc::SourceParts": "/dev/null", "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root", "APT::Architecture": "amd64",
    }  # fmt: skip
    apt = ["apt-get", *(f"-o{name}={value}" for name, value in settings.items())]
    subprocess.run([*apt, "update"], check=True, capture_output=True)
    return {suite: _unpacked(apt, folder / suite, f"{package}/{suite}") for suite, package in wanted.items()}


def _unpacked(apt: list[str], target: Path, package: str) -> Path:
    target.mkdir()
    subprocess.run([*apt, "download", package], check=True, capture_output=True, cwd=target)
    subprocess.run(["dpkg-deb", "-x", str(next(target.glob("*.deb"))), str(target)], check=True)
    return next(target.rglob("libcuda.so.1")).parent
