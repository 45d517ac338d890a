"""Text files of the catalog."""

from __future__ import annotations

from pathlib import Path

from envbuilder.errors import Fault, InvalidInput


def read_text(file: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises:
        InvalidInput: It cannot be read, or is not UTF-8 text.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise InvalidInput((Fault(file=str(file), line=0, field="", problem=f"cannot be read: {reason}"),)) from error
