"""`envbuilder python pack VERSION|PATH` and `envbuilder python list`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.output import json_option, print_json, size, table
from envbuilder.cli.places import places
from envbuilder.errors import ToolMissing


@click.group("python")
def command() -> None:
    """Pack and list interpreter archives.

    Images of old TensorFlow releases need a Python that their OS does not have. It comes from an archive: uv's managed
    one where that can be downloaded, or one packed here from an installed CPython.
    """


@command.command("pack")
@click.argument("interpreter", metavar="VERSION|PATH")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Copy the archive to this folder too.")
@json_option
def pack(interpreter: str, output: Path | None, *, as_json: bool) -> None:
    """Make an archive of an installed CPython, such as 3.8 or ~/.pyenv/versions/3.8.18/bin/python."""
    here = places()
    composition = Composition(here, load_catalog(here.matrices))
    program = Path(interpreter) if "/" in interpreter else _installed(composition, interpreter)
    composition.say(f"packing {program}")
    with tempfile.TemporaryDirectory(prefix="envbuilder-pack-") as folder:
        archive = composition.pack_python(program, Path(folder))
        if output:
            output.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(archive.path, output / archive.path.name)
    if as_json:
        print_json(
            {
                "schema": 1,
                "file": archive.path.name,
                "version": str(archive.version),
                "sha256": archive.sha256,
                "size": archive.size,
                "glibc": str(archive.glibc),
                "needs": list(archive.needs),
                "missing": list(archive.missing or ()),
            }
        )
        return
    click.echo(f"{archive.path.name}: {size(archive.size)}, sha256 {archive.sha256}")
    click.echo(f"runs on glibc {archive.glibc} or later; needs {', '.join(archive.needs)}")
    if archive.missing:
        click.echo(f"without the optional modules {', '.join(archive.missing)}")


@command.command("list")
@json_option
def listing(*, as_json: bool) -> None:
    """Show the interpreter archives in the cache folder."""
    here = places()
    found = Composition(here, load_catalog(here.matrices)).files.named("cpython-*.tar.gz")
    rows = [(path.name, size(path.stat().st_size), path.parent.name) for path in found]
    if as_json:
        print_json({"schema": 1, "archives": [{"file": name, "sha256": digest} for name, _, digest in rows]})
    elif rows:
        click.echo(table(("ARCHIVE", "SIZE", "SHA256"), rows))
    else:
        click.echo("none yet; `envbuilder python pack 3.8` makes one of an installed CPython")


def _installed(composition: Composition, version: str) -> Path:
    """An installed CPython of this version: on the path, or where pyenv and uv keep theirs."""
    environ = dict(composition.places.environ)
    root = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = sorted(root.glob(f"{version}*/bin/python{'.'.join(version.split('.')[:2])}"))
    if candidates:
        return candidates[-1]
    done = subprocess.run(
        [str(composition.uv), "python", "find", "--no-project", "--no-python-downloads", version],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ToolMissing(
            f"no CPython {version} is installed here",
            hint="install one (pyenv, uv python install), or name its path",
        )
    return Path(done.stdout.strip())
