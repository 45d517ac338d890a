"""Programs that the tests write."""

from __future__ import annotations

import shlex
import sys


def python_script(text: str, *options: str) -> str:
    """Return an executable file that the interpreter of the tests runs.

    The first line of a script cannot name an interpreter whose path has a space in it, or is longer than 255 bytes. So
    this is a shell script whose second and third line are a string for Python.
    Source: `_build_shebang` of https://github.com/pypa/distlib
    """
    return f"#!/bin/sh\n'''exec' {shlex.join((sys.executable, *options))} \"$0\" \"$@\"\n' '''\n{text}"
