"""Make failure logs for real and write them as cases: `python -m tools.make_logs [PATTERN…]`.

Without a pattern all are made (about an hour; 60 GB are installed and removed again). Needs uv, the interpreters of
pyenv, a C compiler, a package index; some need root, a Docker engine, `qemu-user` or a Debian mirror. A case that is
there keeps its `env`, `cause` and `fix`; a new one gets empty ones, to be written by hand.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import yaml

from tools.logs import ALL
from tools.logs.bench import Bench, emptied
from tools.logs.recipes import Recipe
from tools.logs.written import dump_case, without_host

CASES = Path(__file__).parents[1] / "tests" / "cases" / "logs"


def make(recipe: Recipe, day: dt.date, known: dict[str, str]) -> str:
    """One log as the text of its case."""
    folder = emptied(Path(tempfile.gettempdir()) / f"job{zlib.crc32(recipe.id.encode()) % 100000}")  # tells no class
    try:
        bench = Bench(folder=folder)
        recipe.make(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    source = f"produced here on {day}: {without_host('; '.join(bench.typed))}"
    return dump_case({
        "id": recipe.id,
        "source": source + (f" ({recipe.arranged})" if recipe.arranged else ""),
        "class": recipe.kind,
        "log": without_host("".join(bench.printed)),
        "env": known.get("env", {"python": bench.python}),
        "cause": known.get("cause", ""),
        "fix": known.get("fix", ""),
    })  # fmt: skip


def main() -> None:
    """Make the logs whose ids are given, as patterns."""
    patterns = sys.argv[1:] or ["*"]
    wanted = [each for each in ALL.values() if any(fnmatch.fnmatch(each.id, f"*{name}*") for name in patterns)]
    failed = [each.id for each in wanted if not _written(each)]
    if failed or not wanted:
        raise SystemExit(f"not made: {', '.join(failed)}" if failed else f"no log of that name: {', '.join(patterns)}")


def _written(recipe: Recipe) -> bool:
    file = CASES / f"{recipe.id}.yaml"
    known = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    try:
        text = make(recipe, dt.datetime.now(tz=dt.UTC).date(), known)
    except subprocess.SubprocessError as error:
        sys.stderr.write(f"{recipe.id}: {error}\n")
        return False
    file.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{recipe.id}\n")
    return True


if __name__ == "__main__":
    main()
