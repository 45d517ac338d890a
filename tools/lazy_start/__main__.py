"""Measure what a container reads from a registry until a command has ended: `python -m tools.lazy_start LAYOUT CODE`.

LAYOUT is an image that `envbuilder build ENV --engine assemble --layer-format estargz -o LAYOUT` wrote. Its layers are
mounted by the file system of stargz-snapshotter from a registry on loopback, from an empty cache and without background
fetching; then CODE runs in the interpreter of the image, without GPUs. Prints requests and bytes as a JSON document.

Needs root, /dev/fuse, and from Debian: golang-go, golang-github-containerd-stargz-snapshotter-dev, fuse3.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from tools.lazy_start.measure import build_program, measured


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layout", type=Path)
    parser.add_argument("code")
    parser.add_argument("--milliseconds", type=float, default=0.0, help="response time of the registry")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lazy-start-") as text:
        folder = Path(text)
        program = build_program(folder, os.environ)
        (folder / "work").mkdir()
        command = ("/opt/venv/bin/python", "-c", given.code)
        found = measured(given.layout, command, given.milliseconds / 1000, program, folder / "work")
        print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
