"""What will not run on the host that builds or validates, said before anything is started."""

from __future__ import annotations

from envbuilder.model.advice import Reason, Topic, Weight
from envbuilder.model.hosts import Host
from envbuilder.model.rows import Catalog
from envbuilder.workflows.advise import fitting_bases

_ABOUT_THE_HOST = frozenset({Topic.DRIVER, Topic.GPU, Topic.PROCESSOR})


def misfits(catalog: Catalog, environment: str, base: str, host: Host | None) -> tuple[str, ...]:
    """Why an image of a row on a base will not run on a host, and what to do about it.

    Args:
        catalog: The rows.
        environment: Id of the row.
        base: Id of the base; empty means the row's first.
        host: The host; None when it has no driver, for images are built on machines without GPUs too.

    Returns:
        One sentence each, the remedy last; empty when it runs, when the row uses no GPU, or when nobody can tell.
    """
    row = next((row for row in catalog.environments if row.id == environment), None)
    if host is None or row is None or row.cuda is None:
        return ()
    bases = fitting_bases(catalog, row, host)
    here = bases.get(base or row.bases[0].system.id)
    reasons = [each for each in here.reasons if _rules_out(each)] if here else []
    if not reasons:
        return ()
    others = [name for name, advice in bases.items() if not any(map(_rules_out, advice.reasons))]
    changes = [reason.change.text for reason in reasons if reason.change]
    remedy = f"another base: --base {others[0]}" if others else " and ".join(dict.fromkeys(changes))
    return (*(reason.text for reason in reasons), f"{remedy}; what does run here: `envbuilder list --fits`")


def _rules_out(reason: Reason) -> bool:
    return reason.weight is Weight.AGAINST and reason.topic in _ABOUT_THE_HOST
