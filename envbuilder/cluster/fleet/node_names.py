"""Names of nodes in the notation of Slurm: `gpu[001-212,220],login`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envbuilder.core.errors import UsageError

MOST_NODES = 100_000
"""Most names of one list; a typing error such as `n[1-99999999999]` must not fill the memory."""

# A name is a word of a script and the name of a file.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:@[A-Za-z0-9][A-Za-z0-9._-]*)?")
_ENTRY = re.compile(r"(?:[^\s,\[\]]|\[[^\[\]]*\])+")
_LIST = re.compile(rf"[\s,]*(?:{_ENTRY.pattern}[\s,]*)*")
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")


def is_node_name(text: str) -> bool:
    """Return True for the name of a node, such as `gpu-001` or `gpu1.example.org`; `USER@HOST` is one for ssh."""
    return _NAME.fullmatch(text) is not None and len(text) <= 255


def expand_names(text: str) -> tuple[str, ...]:
    """Return the names of a list, each once, in its order; white space separates names as commas do.

    Raises:
        UsageError: It is not such a list, or has more than `MOST_NODES` names.

    Example:
        >>> expand_names("gpu[08-10,12],login")
        ('gpu08', 'gpu09', 'gpu10', 'gpu12', 'login')
    """
    if not _LIST.fullmatch(text):
        raise _invalid(text)
    found: dict[str, None] = {}
    for entry in _ENTRY.findall(text):
        for name in _expanded(entry):
            found[name] = None
            if len(found) > MOST_NODES:
                raise UsageError(f"more than {MOST_NODES} nodes: {text}", hint="name fewer nodes")
    invalid = next((name for name in found if not is_node_name(name)), None)
    if invalid is not None:
        raise _invalid(invalid)
    return tuple(found)


def _invalid(text: str) -> UsageError:
    return UsageError(f"not a list of node names: {text!r}", hint="write it as Slurm does: gpu[001-212],login")


def _expanded(entry: str) -> Iterator[str]:
    """Yield the names of an entry, from its first bracket on."""
    before, bracket, rest = entry.partition("[")
    if not bracket:
        yield before
        return
    ranges, _, after = rest.partition("]")
    for piece in ranges.split(","):
        numbers = _RANGE.fullmatch(piece)
        if numbers is None:
            raise _invalid(entry)
        first, last = numbers[1], numbers[2] or numbers[1]
        for number in range(int(first), int(last) + 1):
            for tail in _expanded(after):
                yield f"{before}{number:0{len(first)}d}{tail}"


def fold_names(names: Iterable[str]) -> str:
    """Return names as one list, with ranges where only one number differs.

    Returns:
        Sorted; `expand_names` returns the same names. Empty without names.

    Example:
        >>> fold_names(["gpu10", "login", "gpu08", "gpu09", "gpu12"])
        'gpu[08-10,12],login'
    """
    numbers: dict[tuple[str, str, int], list[int]] = {}
    single: list[str] = []
    for name in sorted(set(names)):
        parts = _last_number(name)
        if parts is None:
            single.append(name)
        else:
            before, digits, after = parts
            numbers.setdefault((before, after, len(digits)), []).append(int(digits))
    entries = [f"{before}{_ranges(sorted(found), digits)}{after}" for (before, after, digits), found in numbers.items()]
    return ",".join(sorted([*entries, *single]))


def _last_number(name: str) -> tuple[str, str, str] | None:
    """Return a name around the last number of its first label; None without one."""
    label, dot, domain = name.partition(".")
    found = re.fullmatch(r"(.*?)(\d{1,12})(\D*)", label)
    return (found[1], found[2], found[3] + dot + domain) if found else None


def _ranges(numbers: list[int], digits: int) -> str:
    """Return ascending numbers of one width, in brackets if there are several."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{low:0{digits}d}" if low == high else f"{low:0{digits}d}-{high:0{digits}d}" for low, high in runs]
    return texts[0] if len(numbers) == 1 else f"[{','.join(texts)}]"
