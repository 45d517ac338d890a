"""Makes failure logs for real and writes them as cases: `python -m tests.repo.make_logs [ID…]`.

Without an id all are made (about half an hour, 20 GB pass through the cache of uv). Needs uv, the interpreters of
pyenv, a C compiler, a package index; some need root, a Docker engine, `qemu-user` or a Debian mirror.
"""

from __future__ import annotations

import datetime
import fnmatch
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from tests.repo.logs import ALL
from tests.repo.logs.bench import Bench, emptied
from tests.repo.logs.recipes import Recipe
from tests.repo.logs.written import dump_case, without_host

CASES = Path(__file__).parents[1] / "cases" / "logs"


def make(recipe: Recipe, day: datetime.date) -> str:
    """One log as the text of its case."""
    folder = emptied(Path(tempfile.gettempdir()) / f"job{zlib.crc32(recipe.id.encode()) % 100000}")  # tells no class
    try:
        bench = Bench(folder=folder)
        recipe.make(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    env = {**recipe.env, **({"python": bench.python} if bench.python else {})}
    source = f"produced here on {day}: {without_host('; '.join(bench.typed))}"
    return dump_case({
        "id": recipe.id,
        "source": source + (f" ({recipe.arranged})" if recipe.arranged else ""),
        "class": recipe.kind,
        "log": without_host("".join(bench.printed)),
        "env": env,
        "cause": recipe.cause,
        "fix": recipe.fix,
    })  # fmt: skip


def main() -> None:
    """Make the logs whose ids are given, as patterns."""
    CASES.mkdir(exist_ok=True)
    patterns = sys.argv[1:] or ["*"]
    wanted = [each for each in ALL.values() if any(fnmatch.fnmatch(each.id, f"*{name}*") for name in patterns)]
    failed = [each.id for each in wanted if not _written(each)]
    if failed or not wanted:
        raise SystemExit(f"not made: {', '.join(failed)}" if failed else f"no log of that name: {', '.join(patterns)}")


def _written(recipe: Recipe) -> bool:
    try:
        text = make(recipe, datetime.datetime.now(tz=datetime.UTC).date())
    except subprocess.SubprocessError as error:
        sys.stderr.write(f"{recipe.id}: {error}\n")
        return False
    (CASES / f"{recipe.id}.yaml").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{recipe.id}\n")
    return True


if __name__ == "__main__":
    main()
