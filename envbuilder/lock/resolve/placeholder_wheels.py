"""Empty wheels that replace a distribution during resolution; they never reach an image."""

from __future__ import annotations

import zipfile
from pathlib import Path


def write_stand_in(folder: Path, name: str, version: str) -> Path:
    """Write a wheel without files or requirements.

    Returns:
        Path of the wheel.

    Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
    """
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: envbuilder\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path
