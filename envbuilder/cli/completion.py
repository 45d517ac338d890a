"""`envbuilder completion SHELL`, and the completions that a shell requests.

Click imports a command to complete its arguments, and importing `build` takes several tenths of a second. Ids of
environments are therefore read from the names of the files of the catalog, before the command is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from envbuilder.cli.context import command_settings
from envbuilder.core.errors import EnvbuilderError
from envbuilder.wiring.configuration import CATALOGS
from envbuilder.wiring.settings import Settings


def environment_ids(catalogs: Iterable[Path], start: str) -> list[str]:
    """Return the ids of the environments of catalogs that begin with a text, oldest release first.

    Only names of files in the directories of the catalogs are read.
    """
    files = [file for folder in catalogs for file in (folder / "environments").glob("*.yaml")]
    return sorted({file.stem for file in files if file.stem.startswith(start)}, key=_by_number)


def _catalogs(here: Settings) -> Iterator[Path]:
    """Yield the directories of the catalogs of this host; those of repositories as far as they were fetched."""
    yield here.matrices
    given = here.given(CATALOGS)
    for word in given.words if given else ():
        commit = word.rpartition("@")[2].partition("#")[0] if word.startswith("git+") else ""
        if commit.isalnum():
            yield from (here.cache_path / "catalogs").glob(f"{commit}*")
        elif given:
            yield given.folder / Path(word).expanduser()


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in a name as numbers."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def environments(ctx: click.Context, param: click.Parameter | None, start: str) -> list[CompletionItem[str]]:  # noqa: ARG001
    """Return locks of this directory and environments that begin with a text; a file if there are none.

    An invalid configuration has no environments, and no message: it would end up in the line that is being typed.
    """
    try:
        ids = environment_ids(_catalogs(command_settings()), start)
    except EnvbuilderError:
        ids = []
    locks = sorted(file.name for file in Path().glob("*.lock") if file.name.startswith(start))
    return [CompletionItem(word) for word in (*locks, *ids)] or [CompletionItem(start, type="file")]


class EnvironmentWords(click.Command):
    """Placeholder for a command while a shell completes one of its arguments."""

    def __init__(self, name: str, load: Callable[[], click.Command]) -> None:
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(name, context_settings=settings, add_help_option=False)
        self._load = load

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return environments, or options of the command."""
        if incomplete.startswith("-"):
            return self._load().shell_complete(ctx, incomplete)
        return environments(ctx, None, incomplete)


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "fish", "zsh")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and environments in a shell.

    \b
    bash: add to ~/.bashrc:     eval "$(envbuilder completion bash)"
    zsh:  add to ~/.zshrc:      eval "$(envbuilder completion zsh)"
    fish: envbuilder completion fish > ~/.config/fish/completions/envbuilder.fish

    The line of zsh belongs below `autoload -Uz compinit && compinit`.
    """  # noqa: D301  click wants the control character itself: it keeps the lines apart
    found = get_completion_class(shell)
    if found is not None:
        click.echo(found(ctx.find_root().command, {}, "envbuilder", "_ENVBUILDER_COMPLETE").source())
