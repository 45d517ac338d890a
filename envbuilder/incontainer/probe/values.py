"""Values that fit into JSON, and facts made of them."""

import math
import numbers
import sys
import time
import traceback

CLIP = 4000
TRACE_LINES = 12
CLOCK = getattr(time, "monotonic", time.time)
TEXT = type(u"")


def text(value):
    """Return any object as text without lone surrogates, at most CLIP characters (the end is kept)."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif not isinstance(value, TEXT):
        value = TEXT(value)
    value = value.encode("utf-8", "replace").decode("utf-8", "replace")
    return value if len(value) <= CLIP else u"... " + value[-CLIP:]


def plain(value):
    """Return the value with JSON types only; a number that is not finite becomes its name as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return dict((text(key), plain(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return repr(value) if math.isinf(value) or math.isnan(value) else value
    if isinstance(value, numbers.Integral):
        return int(value)
    return text(value)


def failure(kind, message, trace=()):
    """Return the description of an error."""
    return {"type": text(kind), "message": text(message), "trace": [text(line) for line in trace][-TRACE_LINES:]}


def caught():
    """Return the exception that is being handled, as a description."""
    kind, error = sys.exc_info()[:2]
    lines = [line.rstrip() for line in traceback.format_exc().splitlines() if line.strip()]
    try:
        message = text(error)
    except Exception:
        message = "(no text)"
    return failure(kind.__name__, message, lines)


def look(function, *arguments):
    """Call a function; return its value or its error as a fact."""
    started = CLOCK()
    try:
        fact = {"ok": True, "value": plain(function(*arguments))}
    except (Exception, SystemExit):
        fact = {"ok": False, "error": caught()}
    fact["seconds"] = round(CLOCK() - started, 3)
    return fact


def unseen(kind, message, seconds=0.0, trace=()):
    """Return a fact for a missing value, without an exception of our own."""
    return {"ok": False, "seconds": round(seconds, 3), "error": failure(kind, message, trace)}


def first_line(path):
    """Return the first line of a small file; None if it cannot be read."""
    content = content_of(path)
    return content.splitlines()[0] if content else None


def content_of(path):
    """Return the text of a small file; None if it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read(1 << 20).decode("utf-8", "replace").strip()
    except (IOError, OSError):
        return None


def text_lines(data):
    """Return lines of any length of a program's output, stripped."""
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines()]


def dotted(number, major, minor):
    """Return a packed version number as text: 8900 by 1000 and 100 is 8.9.0."""
    return "{0}.{1}.{2}".format(number // major, number % major // minor, number % minor)
