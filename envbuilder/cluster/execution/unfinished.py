"""Run the items of a call that an earlier call has not finished."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from envbuilder.cluster.execution.executor import Done, Executor, FailedItem, Outcome, WorkItem
from envbuilder.cluster.execution.finished_items import Results
from envbuilder.core.errors import EnvbuilderError


def run_unfinished(
    items: Sequence[WorkItem],
    executor: Executor,
    finished: Results,
    key: Callable[[WorkItem], str],
    receive: Callable[[Done], None],
) -> Generator[Outcome]:
    """Yield one outcome for each item: those of an earlier, incomplete call, then those of the executor as they come.

    Results without findings are stored at once, and dropped when every item has one: the next call starts afresh.

    Args:
        items: The items; their names are unique.
        executor: Runs what is not finished.
        finished: Results of earlier calls.
        key: Returns the digest of what decides a result, at the time of the call.
        receive: Takes over a new result; its error makes the item a failed one.
    """
    known = {item.name: finished.find(key(item), item.name) for item in items}
    yield from filter(None, known.values())
    rest = {item.name: item for item in items if known[item.name] is None}
    complete = True
    if rest:
        with closing(executor.map(tuple(rest.values()))) as ended:
            for each in ended:
                outcome = _received(each, receive)
                if isinstance(outcome, Done) and outcome.status == 0:
                    finished.keep(key(rest[outcome.name]), outcome)
                else:
                    complete = False
                yield outcome
    if complete:
        finished.drop(key(item) for item in items)


def _received(outcome: Outcome, receive: Callable[[Done], None]) -> Outcome:
    if not isinstance(outcome, Done):
        return outcome
    try:
        receive(outcome)
    except EnvbuilderError as error:
        return FailedItem(name=outcome.name, status=error.exit_code, reason=error.message, node=outcome.node)
    return outcome
