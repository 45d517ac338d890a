"""A `uv` on disk that knows some releases and lists their files, as `uv pip compile --format pylock.toml` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.scripts import python_script

_PROGRAM = """
import json, pathlib, sys
folder = pathlib.Path({folder!r})
arguments = sys.argv[1:]
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(arguments) + chr(10))
known = json.loads((folder / "known.json").read_text())
python = arguments[arguments.index("--python-version") + 1]
pins = pathlib.Path(arguments[2]).read_text().split()
blocks = []
for pin in pins:
    release = known.get(pin)
    if release is None or int(python.split(".")[1]) < int(release["oldest"].split(".")[1]):
        sys.exit("error: " + (known.get("failure") or "No solution found for " + pin))
    name, _, version = pin.partition("==")
    entry = "{{ url = 'https://files.example/%s', hashes = {{ sha256 = '%s' }} }}"
    files = [entry % (each["file"], each["sha256"]) for each in release["files"]]
    wheels = [line for line in files if ".whl" in line]
    sdists = ["sdist = " + line for line in files if ".whl" not in line]
    head = ["[[packages]]", "name = '" + name + "'", "version = '" + version + "'"]
    blocks += [*head, "wheels = [" + ", ".join(wheels) + "]", *sdists]
output = pathlib.Path(arguments[arguments.index("--output-file") + 1])
output.write_text(chr(10).join(blocks))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUv:
    """The program.

    Attributes:
        path: The program.
    """

    path: Path

    @property
    def calls(self) -> list[list[str]]:
        """Arguments of every call, in order."""
        log = self.path.parent / "calls"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []


def index_uv(
    folder: Path,
    releases: Mapping[str, Sequence[tuple[str, str]]],
    *,
    oldest: Mapping[str, str] | None = None,
    failure: str = "",
) -> IndexUv:
    """Put a uv into a folder.

    Args:
        folder: Where.
        releases: `(file, sha256)` of each release, by `name==version`.
        oldest: The first Python of a release; 3.6 where nothing is said.
        failure: What it says when it cannot answer.
    """
    known: dict[str, object] = {
        pin: {
            "oldest": (oldest or {}).get(pin, "3.6"),
            "files": [{"file": file, "sha256": sha256} for file, sha256 in files],
        }
        for pin, files in releases.items()
    }
    if failure:
        known["failure"] = failure
    (folder / "known.json").write_text(json.dumps(known), encoding="utf-8")
    program = folder / "uv"
    program.write_text(python_script(_PROGRAM.format(folder=str(folder)), "-IS"), encoding="utf-8")
    program.chmod(0o755)
    return IndexUv(path=program)
