"""How a log becomes a case: what names this host is replaced, the rest stays as it was printed."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Mapping

import yaml

_TOLD = ("developers.google.com", "www.tensorflow.org", "github.com", "docs.docker.com", "numpy.org", "tensorflow.org",
         "pip.pypa.io", "setuptools.pypa.io", "keras.io", "bugs.debian.org")  # fmt: skip
"""Addresses of documents, which programs print; any other may be a package index."""
_ADDRESS = re.compile(r"https?://(?:[^/@\s]+@)?(?P<host>[^/\s:'\"<>)]+)[^\s'\"<>)]*")
_HOST = re.escape(socket.gethostname())
_NAMED = re.compile(r"\b(?:registry|index|files|mirror)[\w-]*\.[\w.-]+\.(?:io|org|com)\b")
_CUT = ("Looking in indexes:", "Looking in links:", "is ignored: it is neither a file nor a directory")


def without_host(text: str) -> str:
    r"""Return a log without the name of this host and without addresses of a package index; ends without an empty line.

    Example:
        >>> without_host("Looking in indexes: x\nsee https://somewhere.invalid/a/b \n")
        'see <index>'
    """
    text = _ADDRESS.sub(lambda found: found[0] if found["host"] in _TOLD else "<index>", text)
    text = _NAMED.sub("<index>", text)
    text = re.sub(
        rf"(?<=host \()({_HOST})(?=\))|(?<=host: )({_HOST})$|(?<=hostname: )({_HOST})$",
        "workstation",
        text,
        flags=re.MULTILINE,
    )
    kept = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n") if not any(cut in line for cut in _CUT)]
    return "\n".join(kept).strip("\n")


def dump_case(case: Mapping[str, str | Mapping[str, str]]) -> str:
    """A case as canonical YAML: the log as a literal block where YAML can, the fields in the order given.

    Returns:
        Text that `yaml.safe_load` reads as the same case.
    """
    parts = []
    for name, value in case.items():
        if isinstance(value, str) and "\n" in value:
            parts.append(_block(name, value))
        else:
            parts.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=110))
    return "".join(parts)


def _block(name: str, value: str) -> str:
    lines = "".join(f"  {line}\n" if line else "\n" for line in value.split("\n"))
    text = f"{name}: |2-\n{lines}"
    with contextlib.suppress(yaml.YAMLError):
        if yaml.safe_load(text) == {name: value}:
            return text
    return yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=110)
