"""`--on`: run a command for each of many environments, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, assert_never

import click

from envbuilder.cli.options import EXECUTION_TARGET, ParsedValue, grouped
from envbuilder.cli.output.fan_out import FanOutOutput, outcome_line
from envbuilder.cli.output.printing import notice, print_json
from envbuilder.cluster.execution.executor import Done, FailedItem, Lost, Outcome, WorkItem
from envbuilder.cluster.execution.finished_items import Results, run_unfinished
from envbuilder.cluster.execution.targets import SYNTAX, ExecutionTarget
from envbuilder.core.errors import IncompleteRun, UsageError
from envbuilder.wiring.execution import executor_of, finished_items, result_key
from envbuilder.wiring.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
_ARGUMENTS = "envbuilder.cli.fan_out.arguments"
_NEVER_SENT = frozenset({"on", "again", "as_json", "verbosity", "progress", "color"})


class FanOutCommand(click.Command):
    """A command that keeps its command line, so that it can be sent elsewhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the command line, and parse it."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutRequest:
    """The options about running elsewhere.

    Attributes:
        on: Place; None runs the command itself.
    """

    on: ExecutionTarget | None
    again: bool


def fan_out_options(
    again: str = "With --on: also repeat what an earlier, incomplete call has finished.",
) -> Callable[[F], F]:
    """Add `--on` and `--again`; the command receives them as a `FanOutRequest`."""
    return grouped(
        "elsewhere",
        FanOutRequest,
        click.option(
            "--on",
            type=EXECUTION_TARGET,
            metavar="WHERE",
            help=f"Run the command for each environment by itself, several at a time. WHERE: {SYNTAX}.",
        ),
        click.option("--again", is_flag=True, help=again),
    )


def sent_arguments(name: str, *, left_out: Sequence[str] = (), always: Sequence[str] = ("--json",)) -> tuple[str, ...]:
    """Return the command line for one environment: that of the running command, with another name in place of its own.

    Configured options count as given. Paths of files become absolute.

    Args:
        name: Environment or image.
        left_out: Parameters that are not sent, beside those of this module.
        always: Options to add.
    """
    context = click.get_current_context()
    given = _given(context)
    skipped = _NEVER_SENT | set(left_out)
    arguments: list[str] = [*_words(context), *always]
    for option in _options(context.command):
        if option.name in given and option.name not in skipped:
            arguments += _written(option, given[option.name])
    return (*arguments, "--", name)


def refuse_with_on(**options: str) -> None:
    """Raise UsageError if an option is given that cannot be combined with `--on`.

    `options` has the reason for each, by the name of its parameter.

    Raises:
        UsageError: One of them is given.
    """
    context = click.get_current_context()
    given = _given(context)
    for option in _options(context.command):
        if option.name in options and option.name in given:
            raise UsageError(f"{option.opts[-1]} cannot be combined with --on", hint=options[option.name])


def run_elsewhere(  # noqa: PLR0913  one parameter for each part of a call
    here: Settings,
    on: ExecutionTarget,
    items: Sequence[WorkItem],
    output: FanOutOutput,
    *,
    as_json: bool,
    again: bool = False,
    finished: Results | None = None,
    receive: Callable[[Done], None] = lambda _: None,
    before: Mapping[str, Mapping[str, object]] | None = None,
    order: Sequence[str] = (),
) -> None:
    """Run work items elsewhere, print the outcome of each as it comes, and at the end one document with `--json`.

    Results of earlier calls are in the cache directory, unless `finished` has them; `again` drops them. `receive` takes
    over each new result. `before` has documents of items that needed no run, by name. The document follows `order`, or
    the order of the items.

    Raises:
        IncompleteRun: Items have no result.
        Exit: With status 1, if every item has a result, and one of them has findings.
    """
    results = finished or finished_items(here)
    if again:
        results.drop(result_key(here, item) for item in items)
    outcomes: list[Outcome] = []
    with closing(_outcomes(here, on, items, results, receive)) as ended:
        for number, outcome in enumerate(ended, start=1):
            outcomes.append(outcome)
            _print_outcome(outcome, f"{number}/{len(items)}", output, as_json=as_json)
    documents = dict(before or {}) | {each.name: each.document for each in outcomes if isinstance(each, Done)}
    missing = [each for each in outcomes if not isinstance(each, Done)]
    if as_json:
        names = order or [item.name for item in items]
        merged = output.merged([documents[name] for name in names if name in documents])
        print_json(merged | {"missing": list(_missing(missing))})
    if missing:
        raise IncompleteRun(tuple(sorted(each.name for each in missing)), len(items))
    if any(isinstance(each, Done) and each.status for each in outcomes):
        raise click.exceptions.Exit(1)


def _outcomes(
    here: Settings,
    on: ExecutionTarget,
    items: Sequence[WorkItem],
    finished: Results,
    receive: Callable[[Done], None],
) -> Generator[Outcome]:
    if not items:
        return
    with (
        executor_of(on, here, notice) as executor,
        closing(run_unfinished(items, executor, finished, partial(result_key, here), receive)) as outcomes,
    ):
        yield from outcomes


def _print_outcome(outcome: Outcome, place: str, output: FanOutOutput, *, as_json: bool) -> None:
    line = f"{place} {outcome_line(outcome, output)}"
    if as_json:
        notice(line)
    else:
        click.echo(line)


def _missing(outcomes: Sequence[Outcome]) -> Iterator[dict[str, object]]:
    for outcome in sorted(outcomes, key=lambda each: each.name):
        match outcome:
            case FailedItem():
                found: dict[str, object] = {"outcome": "failed", "status": outcome.status, "node": outcome.node or None}
                yield {"name": outcome.name, "reason": outcome.reason} | found
            case Lost():
                yield {"name": outcome.name, "reason": outcome.reason, "outcome": "lost"}
            case Done():
                continue
            case _:
                assert_never(outcome)


def _given(context: click.Context) -> dict[str, Any]:
    """Return the parameters of the command line by name, as text, and the configured options that it lacks."""
    given, _, _ = context.command.make_parser(context).parse_args(list(context.meta[_ARGUMENTS]))
    configured = context.default_map or {}
    unset = {each.name for each in _options(context.command) if each.is_flag and _is_unset(each, configured)}
    return {name: value for name, value in configured.items() if name not in unset} | dict(given)


def _is_unset(flag: click.Option, configured: Mapping[str, Any]) -> bool:
    return bool(configured.get(str(flag.name)) != flag.flag_value)


def _options(command: click.Command) -> Iterator[click.Option]:
    return (each for each in command.params if isinstance(each, click.Option))


def _words(context: click.Context) -> list[str]:
    """Return the words of the command, such as `catalog prove`."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, str(context.info_name))
        context = context.parent
    return words


def _written(option: click.Option, value: object) -> Iterator[str]:
    """Yield the words that give an option a value."""
    flag = option.opts[-1]
    if option.is_flag:
        yield flag
        return
    for each in value if isinstance(value, list | tuple) else (value,):
        text = _anywhere(option.type, str(each))
        yield from (f"{flag}={text}",) if flag.startswith("--") else (flag, text)


def _anywhere(kind: click.ParamType[Any], text: str) -> str:
    """Return the text of a value for another current directory."""
    if isinstance(kind, click.Path):
        return text if text == "-" else str(Path(text).absolute())
    return kind.absolute(text) if isinstance(kind, ParsedValue) else text
