"""`envbuilder python pack VERSION|PATH` and `envbuilder python list`."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import click

from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.groups import Group
from envbuilder.cli.output.printing import folded, json_option, print_json, table
from envbuilder.cli.session import command_session
from envbuilder.core.errors import ToolMissing, UsageError
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.core.versions import Release
from envbuilder.image.base.available_pythons import archives_in
from envbuilder.image.base.installed_pythons import installed_pythons
from envbuilder.wiring.ingredients import pack_python
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import host_programs

_VERSION = re.compile(r"3\.\d+(\.\d+)?")


@click.group("python", cls=Group)
def command() -> None:
    """Pack and list interpreter archives.

    Images of old TensorFlow releases need a Python version that their operating system lacks. It comes from an archive:
    downloaded as by `uv python install`, or packed from a CPython that is installed on this machine.
    """


@command.command("pack")
@click.argument("interpreter", metavar="VERSION|PATH")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also copy the archive to this directory.")
@json_option
def pack(interpreter: str, output: Path | None, *, as_json: bool) -> None:
    """Pack an installed CPython into an archive.

    The argument is a version such as 3.8, or a path such as ~/.pyenv/versions/3.8.18/bin/python.
    """
    session = command_session()
    program = Path(interpreter) if "/" in interpreter else _installed(session, interpreter)
    session.progress(f"packing {program}")
    with tempfile.TemporaryDirectory(prefix="envbuilder-pack-") as folder:
        archive = pack_python(session, program, Path(folder))
        if output:
            output.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(archive.path, output / archive.path.name)
    if as_json:
        print_json(document_of(documents.PythonPack, archive, file=archive.path.name, missing=archive.missing or ()))
        return
    click.echo(f"{archive.path.name}: {size(archive.size)}, sha256 {archive.sha256}")
    click.echo(f"runs on glibc {archive.glibc} or later; needs {', '.join(archive.needs)}")
    if archive.missing:
        click.echo(f"without the optional modules {', '.join(archive.missing)}")
    click.echo(folded("kept in the cache directory, where `envbuilder lock` and `envbuilder build` find it"))


@command.command("list")
@json_option
def listing(*, as_json: bool) -> None:
    """List the interpreter archives in the cache directory."""
    found = archives_in(command_session().files.folder)
    rows = [(path.name, size(path.stat().st_size), path.parent.name) for path in found]
    if as_json:
        print_json({"schema": 1, "archives": [{"file": name, "sha256": digest} for name, _, digest in rows]})
    elif rows:
        click.echo(table(("ARCHIVE", "SIZE", "SHA256"), rows))
    else:
        click.echo(folded("no archives; `envbuilder python pack 3.8` packs an installed CPython"))


def _installed(session: Session, version: str) -> Path:
    """Return the newest installed CPython of a version that can be packed.

    Raises:
        ToolMissing: There is none; names the reason if there are unsuitable ones.
    """
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is not a version of Python", hint="use a version such as 3.8, or a path")
    problems = []
    for python in installed_pythons(Release(version), None, host_programs(session.settings)):
        if not python.problem:
            return python.program
        problems.append(f"\n  {python.program} {python.problem}")
    raise ToolMissing(
        f"no suitable CPython {version} is installed{''.join(problems)}",
        hint=f"install one: `uv python install {version}` or `pyenv install {version}`; or specify its path",
    )
