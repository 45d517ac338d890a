"""A `uv` that makes environments: it writes down each call, and what it was told to install."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Plain shell: the interpreter that runs the tests must not be part of what is tested.
_PROGRAM = """#!/bin/sh
folder='{folder}'
requirements=
while [ "$1" != "" ]; do
  printf '%s\\n' "$1" >>"$folder/arguments"
  if [ "$1" = "--requirements" ]; then requirements="$2"; fi
  shift
done
printf 'UV_CACHE_DIR=%s\\nUV_DEFAULT_INDEX=%s\\nPYTHONPATH=%s\\nUV_PYTHON_DOWNLOADS=%s\\nKEPT=%s\\n' \\
  "$UV_CACHE_DIR" "$UV_DEFAULT_INDEX" "$PYTHONPATH" "$UV_PYTHON_DOWNLOADS" "$KEPT" >>"$folder/environ"
if [ "$requirements" != "" ]; then cat "$requirements" >>"$folder/requirements"; fi
for name in arguments environ requirements; do echo "----" >>"$folder/$name"; done
cat "$folder/stderr" >&2
calls=$(grep -c -e '^----$' "$folder/arguments")
if [ "$calls" -ge "$(cat "$folder/fails_from")" ]; then exit 2; fi
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call.

    Attributes:
        arguments: Without the program.
        environ: The variables that matter.
        requirements: Content of its requirements file; empty without one.
    """

    arguments: tuple[str, ...]
    environ: dict[str, str]
    requirements: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallingUv:
    """The program.

    Attributes:
        path: The program.
    """

    path: Path

    @property
    def calls(self) -> list[Call]:
        """Every call, in order."""
        return [
            Call(
                arguments=tuple(arguments.splitlines()),
                environ=dict(line.split("=", 1) for line in environ.splitlines()),
                requirements=requirements,
            )
            for arguments, environ, requirements in zip(
                self._blocks("arguments"), self._blocks("environ"), self._blocks("requirements"), strict=True
            )
        ]

    def _blocks(self, name: str) -> list[str]:
        path = self.path.parent / name
        return path.read_text(encoding="utf-8").split("----\n")[:-1] if path.is_file() else []


def installing_uv(folder: Path, *, fails_from: int = 1000, stderr: str = "") -> InstallingUv:
    """Put a uv into a folder.

    Args:
        folder: Where.
        fails_from: The first call that fails, from 1; those after it fail too.
        stderr: What it says each time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fails_from").write_text(str(fails_from), encoding="utf-8")
    (folder / "stderr").write_text(stderr, encoding="utf-8")
    program = folder / "uv"
    program.write_text(_PROGRAM.format(folder=folder), encoding="utf-8")
    program.chmod(0o755)
    return InstallingUv(path=program)
