"""Other Pythons for the pins of a project, as the package index states them."""

from __future__ import annotations

from envbuilder.catalog.advise.advice import Query
from envbuilder.core.errors import SourceUnreachable, ToolFailed
from envbuilder.lock.adoption import Adoption, OtherPython
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.other_pythons import other_python
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import package_index


def examined_pythons(session: Session, adoption: Adoption, machine: Query, sources: Sources) -> OtherPython | None:
    """Return another Python that has wheels of pins, as the package index states; see `other_python`.

    It is None, and the reason is reported, if the index does not respond: what was resolved before is not lost.
    """
    if not adoption.changes:
        return None  # without opening the index, which makes the cache directory
    try:
        return other_python(session.catalog, adoption, machine, package_index(session.settings, sources))
    except (SourceUnreachable, ToolFailed) as error:
        session.progress(f"wheels for other Pythons were not examined: {error.message.splitlines()[0]}")
        return None
