"""The command reference, from the commands themselves: usage, help, options with defaults and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from envbuilder.cli.configured_options import variable_of
from envbuilder.cli.documents.schemas import DOCUMENTS
from envbuilder.cli.global_options import GlobalOption
from envbuilder.cli.main import SECTIONS, cli
from tools.docs.markdown import code, console, plain, table
from tools.docs.schemas import PAGE as SCHEMAS

FOLDER = "commands"
GUIDE = "cli.md"
_VERBATIM = "\b"
"""First line of a paragraph that click prints as it is."""


def command_pages(guide: str) -> Mapping[str, str]:
    """Return the pages by their paths in the site: the index, then each command, in the order of the help.

    Args:
        guide: Text of docs/cli.md, to which each page leads.
    """
    root = click.Context(cli, info_name="envbuilder", **cli.context_settings)
    pages = {f"{FOLDER}/index.md": _page(_index())}
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None, name  # noqa: S101  it is in the list
        context = click.Context(command, info_name=name, parent=root)
        pages[f"{FOLDER}/{name}.md"] = _page(_command(context, guide))
    return pages


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _index() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "`envbuilder COMMAND --help` prints the same. What commands have in common, and the fields of their JSON"
    yield "documents, is in the [guide to the command line](../cli.md)."
    yield ""
    for title, commands in SECTIONS.items():
        yield f"## {title}"
        yield ""
        rows = ((f"[`envbuilder {name}`]({name}.md)", plain(text)) for name, (_, text) in commands.items())
        yield from table(("Command", ""), rows)
    yield "## Exit status"
    yield ""
    yield "0 is success, 1 a finding. Every kind of error has [a status of its own](../exit-codes.md)."


def _command(context: click.Context, guide: str) -> Iterator[str]:
    """Yield the page of a command, or of a group with a section for each of its commands."""
    command = context.command
    yield f"# {context.command_path}"
    yield ""
    yield from _described(context)
    if any(document.split()[0] == command.name for document in DOCUMENTS):
        yield f"What `--json` prints: [JSON Schema](../{SCHEMAS})."
        yield ""
    anchors = [anchor for title, anchor in _titles(guide) if title.split()[0] == command.name]
    if anchors:
        yield f"Details and examples: [the guide](../{GUIDE}#{anchors[0]})."
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            each = command.get_command(context, name)
            assert each is not None, name  # noqa: S101  it is in the list
            inner = click.Context(each, info_name=name, parent=context)
            yield f"## {inner.command_path}"
            yield ""
            yield from _described(inner)
    yield "All statuses: [Exit codes](../exit-codes.md). All commands: [Commands](index.md)."


def _described(context: click.Context) -> Iterator[str]:
    command = context.command
    yield from console(f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}")
    yield from _help(command.help or "")
    if isinstance(command, click.Group):
        return
    options = [each for each in command.get_params(context) if isinstance(each, click.Option) and _is_own(each)]
    yield from table(("Option", "Meaning"), (_option(each, context) for each in options))
    words = tuple(context.command_path.split()[1:])
    yield f"An option can also be set by its variable, {code(variable_of(words, 'OPTION'))}, or in the file of your"
    yield "[configuration](../configuration.md#options-of-commands)."
    yield ""


def _is_own(option: click.Option) -> bool:
    return not isinstance(option, GlobalOption)


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    names, _ = option.get_help_record(context) or ("", "")
    default = option.get_help_extra(context).get("default")
    meaning = [
        plain(option.help or ""),
        f"Default: {code(str(default))}." if default else "",
    ]
    return code(names), " ".join(filter(None, meaning))


def _help(text: str) -> Iterator[str]:
    """Yield the help of a command as Markdown; what click keeps apart stays apart."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.splitlines()
        if lines[0].strip() == _VERBATIM:
            yield from console(*lines[1:])
        elif paragraph.strip():
            yield plain(" ".join(line.strip() for line in lines))
            yield ""


def _titles(guide: str) -> Iterator[tuple[str, str]]:
    """Yield each title of the second level and its anchor."""
    for title in re.findall(r"^## (.+)$", guide, re.MULTILINE):
        yield title, re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
