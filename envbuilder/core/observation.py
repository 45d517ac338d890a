"""A fact that was seen, or the reason why not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Generic, TypeAlias, TypeVar

from envbuilder.core.structure import At, Tagged

T = TypeVar("T")
_ERROR_LINE = re.compile(r"[\w.]*(Error|Exception): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Generic[T]):
    """A fact.

    Attributes:
        value: What was seen.
        seconds: How long looking took.
    """

    value: T
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A fact that could not be seen.

    Attributes:
        kind: Name of the exception, or `Signal`, `Timeout`, `Exit` when the process ended, `NotReached` when an earlier
            fact failed, `NotAsked` when the request left it out.
        message: The error's text; the signal's name for `Signal`.
        trace: Last lines of the traceback, or of what the process wrote.
        seconds: How long looking took.
    """

    kind: Annotated[str, At("error", "type")]
    message: Annotated[str, At("error", "message")]
    trace: Annotated[tuple[str, ...], At("error", "trace")] = ()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        r"""The line that says most: the first, or the error at the end of a traceback that stands in the message.

        Example:
            >>> Unseen(kind="ImportError", message="Traceback:\n  File x\nImportError: no libx\n\nSee y").headline
            'ImportError: no libx'
        """
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        if not lines:
            return self.kind
        errors = [line for line in lines if _ERROR_LINE.match(line)]
        return errors[-1] if lines[0].startswith("Traceback") and errors else lines[0]

    @property
    def summary(self) -> str:
        """Kind and headline; the kind only once."""
        return self.headline if self.headline.startswith(f"{self.kind}:") else f"{self.kind}: {self.headline}"

    @property
    def text(self) -> str:
        """Everything that was written about it, for searching."""
        return "\n".join((self.kind, self.message, *self.trace))


NOT_ASKED = Unseen(kind="NotAsked", message="the probe was not asked for it")

Fact: TypeAlias = Annotated[Seen[T] | Unseen, Tagged("ok", True, False)]  # noqa: FBT003  values of the tag
