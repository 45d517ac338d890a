"""A fact that was observed, or the reason why it was not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Generic, TypeAlias, TypeVar

from envbuilder.core.field_rules import At, Tagged

T = TypeVar("T")
_ERROR_LINE = re.compile(r"[\w.]*(Error|Exception): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Generic[T]):
    """A fact.

    Attributes:
        value: The observed value.
        seconds: Duration of the observation.
    """

    value: T
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A fact that could not be observed.

    Attributes:
        kind: Name of the exception, or `Signal`, `Timeout`, `Exit` if the process ended, `NotReached` if an earlier
            fact failed, `NotAsked` if the request left it out.
        message: The text of the error; the name of the signal for `Signal`.
        trace: Last lines of the traceback, or of the output of the process.
        seconds: Duration of the observation.
    """

    kind: Annotated[str, At("error", "type")]
    message: Annotated[str, At("error", "message")]
    trace: Annotated[tuple[str, ...], At("error", "trace")] = ()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        r"""Most informative line: the first, or the error at the end of a traceback in the message.

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
        """Kind and headline, without repeating the kind."""
        return self.headline if self.headline.startswith(f"{self.kind}:") else f"{self.kind}: {self.headline}"

    @property
    def text(self) -> str:
        """Complete text of the failure, for searching."""
        return "\n".join((self.kind, self.message, *self.trace))


NOT_ASKED = Unseen(kind="NotAsked", message="not requested from the probe")

Fact: TypeAlias = Annotated[Seen[T] | Unseen, Tagged("ok", True, False)]  # noqa: FBT003  values of the tag


def known(fact: Seen[T] | Unseen) -> T | None:
    """Return the value of a fact; None if it was not observed."""
    return fact.value if isinstance(fact, Seen) else None
