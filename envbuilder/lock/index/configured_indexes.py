"""Package indexes that uv uses: the default one, those of its configuration, and credentials for them."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.core.http.credentials import Login, Logins, Protected, netrc_logins, protected
from envbuilder.core.uv import settings_files

_NAMED = re.compile(r"([A-Za-z0-9._-]+)=(.+)", re.DOTALL)
_LISTS = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")
_KEYS = ("index-url", "extra-index-url")


def address_of(index: str) -> str:
    """Return the address of an index, which may be given as `NAME=URL` as in uv.

    Example:
        >>> address_of("corp=https://index.example/simple/"), address_of("https://index.example/?a=b")
        ('https://index.example/simple/', 'https://index.example/?a=b')
    """
    return _split(index)[1]


def index_logins(environ: Mapping[str, str], home: Path, index: str) -> Logins:
    """Return the credentials for downloads from package indexes.

    Args:
        environ: Variables of uv, among them `UV_INDEX_<NAME>_USERNAME` and `UV_INDEX_<NAME>_PASSWORD`, and `NETRC`.
        home: Directory of the user.
        index: Index that the user named; empty to use uv's configuration.
    """
    named = [_split(text) for name in _LISTS for text in environ.get(name, "").split()]
    listed = [_split(index)] if index else []
    for file in settings_files(environ, home):
        listed += _configured(settings_of(file))
    found = [_protected(name, url, environ) for name, url in (*listed, *named)]
    return Logins(indexes=tuple(each for each in found if each), hosts=netrc_logins(environ, home))


def _protected(name: str, url: str, environ: Mapping[str, str]) -> Protected | None:
    try:
        if urlsplit(url).scheme not in {"http", "https"}:
            return None
        variable = f"UV_INDEX_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
        user, password = (environ.get(f"{variable}_{part}", "") for part in ("USERNAME", "PASSWORD"))
        return protected(url, Login(user=user, password=password) if name and (user or password) else None)
    except ValueError:
        return None


def _split(index: str) -> tuple[str, str]:
    """Return the name, empty for none, and the address of an index."""
    match = _NAMED.fullmatch(index)
    return (match[1], match[2]) if match else ("", index)


def _configured(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield name and address of each index of a settings file."""
    for index in _list(settings.get("index")):
        if isinstance(index, dict):
            yield str(index.get("name", "")), str(index.get("url", ""))
    nested = settings.get("pip")
    for table in (settings, nested if isinstance(nested, dict) else {}):
        for url in (url for key in _KEYS for url in _list(table.get(key))):
            yield "", str(url)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if value else []


_DEFAULT = re.compile(r"--default-index.*?by\s+default:\s*<?(https?://[^>\s)]+)", re.DOTALL)


def configured_index(environ: Mapping[str, str], home: Path) -> tuple[str, str]:
    """Return the index that a settings file of uv names.

    Args:
        environ: `UV_CONFIG_FILE` and the directories of XDG.
        home: Home directory of the user.

    Returns:
        Address, and the file that names it; both empty if no file names one.
    """
    for file in settings_files(environ, home):
        address = _named(settings_of(file))
        if address:
            return address, str(file)
    return "", ""


def settings_of(file: Path) -> dict[str, object]:
    """Return the content of a settings file; empty when it is missing or cannot be parsed."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _named(settings: Mapping[str, object]) -> str:
    listed = settings.get("index")
    for index in listed if isinstance(listed, list) else []:
        if isinstance(index, dict) and index.get("default") is True:
            return str(index.get("url", ""))
    pip = settings.get("pip")
    nested = pip.get("index-url", "") if isinstance(pip, dict) else ""
    return str(settings.get("index-url") or nested)


def default_index(uv: Path, *, timeout: float) -> str:
    """Return the built-in index of uv, as its help states; empty if uv does not answer in time."""
    try:
        done = subprocess.run(
            [str(uv), "pip", "compile", "--help"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _DEFAULT.search(done.stdout)
    return found[1] if found else ""
