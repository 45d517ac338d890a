"""Build the site: `python -m tools.docs [DIRECTORY]`; default: `build/docs`. The site is in its directory `site`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT

from envbuilder.catalog.load.catalog import load_catalog
from tools.docs import interface
from tools.docs.commands import command_pages
from tools.docs.environments import FOLDER, environment_pages, linked
from tools.docs.navigation import NAVIGATION, navigation
from tools.docs.outside import loaded_from_elsewhere
from tools.docs.reports import write_reports
from tools.docs.schemas import schema_pages
from tools.docs.staging import stage

_ROOT = Path(__file__).parents[2]
_QUIET = {"NO_MKDOCS_2_WARNING": "1"}
"""Leaves out a notice of mkdocs-material about its successor: docs/adr/0056-documentation-site.md."""


def main(target: Path) -> None:
    """Write the pages into a directory and build the site from them.

    Raises:
        SystemExit: mkdocs has a warning, such as a link that leads nowhere; or a page loads from another host.
    """
    pages, site = target / "pages", target / "site"
    docs = _ROOT / "docs"
    generated = {
        **command_pages((docs / "cli.md").read_text(encoding="utf-8")),
        **schema_pages(),
        interface.PAGE: interface.interface_page(),
        **environment_pages(load_catalog(_ROOT / "matrices")),
    }
    generated["gpus.md"] = linked((docs / "gpus.md").read_text(encoding="utf-8"))
    stage(_ROOT, pages, generated)
    if not write_reports(_ROOT / "tests" / "golden" / "reports", pages):
        print("docs: no pictures of reports: no Chromium is installed", file=sys.stderr)
    config = target / "mkdocs.yml"
    own = {
        "INHERIT": os.path.relpath(docs / "mkdocs.yml", target),
        "docs_dir": "pages",
        "site_dir": "site",
        NAVIGATION: navigation(docs / "mkdocs.yml", pages, generated),
    }
    # JSON is YAML.
    config.write_text(json.dumps(own, indent=2) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    built = subprocess.run(command, check=False, text=True, env=os.environ | _QUIET, stdout=PIPE, stderr=STDOUT)
    if built.returncode:
        sys.exit(f"{built.stdout}docs: the site was not built: the warnings above say why")
    loaded = list(loaded_from_elsewhere(site))
    if loaded:
        sys.exit("docs: pages load from other hosts: " + "; ".join(f"{page}: {address}" for page, address in loaded))
    print(f"{site / 'index.html'}: {len(list(site.rglob('*.html')))} pages, {_environments(generated)} environments")


def _environments(generated: dict[str, str]) -> int:
    return sum(page.startswith(f"{FOLDER}/") for page in generated) - 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=_ROOT / "build" / "docs")
    main(parser.parse_args().directory)
