"""References of images on the command line."""

from __future__ import annotations

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef

REFERENCE = "write [HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST], the name in lower case"


def checked_reference(name: str) -> str:
    """Return an image reference unchanged after checking it.

    Raises:
        UsageError: It is not a reference; no engine and no registry is asked for it.
    """
    try:
        ImageRef.parse(name)
    except ValueError as error:
        raise UsageError(str(error), hint=REFERENCE) from error
    return name
