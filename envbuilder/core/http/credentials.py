"""Credentials for package indexes and mirrors, from their addresses, the environment and netrc."""

from __future__ import annotations

import base64
import netrc
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from envbuilder.core.http.origins import origin, scheme_of, without_login

LOGIN_HINT = "name user and password in the address (--index https://USER:PASSWORD@HOST/PATH), or the host in ~/.netrc"
"""Hint of errors about missing or wrong credentials."""

_ANY_HOST = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """User and password.

    Attributes:
        user: User name; may be empty if a token is enough.
        password: Never printed.
    """

    user: str
    password: str = field(repr=False)

    @property
    def authorization(self) -> str:
        """Value of the header `Authorization`."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode('ascii')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """An address for which credentials may be used, including all addresses below it.

    Attributes:
        url: Address without user and password.
        login: Credentials; None to use netrc.
    """

    url: str
    login: Login | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """Credentials, and the addresses that may receive them.

    Attributes:
        indexes: Package indexes that were configured; their credentials are for their own origins only.
        hosts: Credentials of netrc by host. The entry `default` is used for the origins of `indexes` only.
    """

    indexes: tuple[Protected, ...] = ()
    hosts: Mapping[str, Login] = field(default_factory=dict)

    def find(self, url: str) -> Login | None:
        """Return the credentials for an address; None if it must not receive any.

        The order is: those in the address itself, those of an index on its origin, those of netrc for its host. Netrc
        is not used over plain http, except for the origin of an index.

        Example:
            >>> here = Login(user="me", password="secret")
            >>> logins = Logins(indexes=(Protected(url="https://index.example/simple/", login=here),))
            >>> logins.find("https://index.example/files/x.whl")
            Login(user='me')
            >>> logins.find("https://files.example/x.whl"), logins.find("http://index.example/files/x.whl")
            (None, None)
        """
        own = _login_in(url)
        if own is not None:
            return own
        near = [each for each in self.indexes if origin(each.url) == origin(url)]
        named = [each for each in near if each.login is not None]
        if named:
            return max(named, key=lambda each: _shared(each.url, url)).login
        if not near and urlsplit(url).scheme != "https":
            return None
        found = self.hosts.get(urlsplit(url).hostname or "")
        return found or (self.hosts.get(_ANY_HOST) if near else None)


def _login_in(url: str) -> Login | None:
    """Return the user and the password in an address; None if it has none.

    Example:
        >>> _login_in("https://me:p%40ss@index.example/simple/").authorization
        'Basic bWU6cEBzcw=='
    """
    login, at, _ = urlsplit(url).netloc.rpartition("@")
    if not at:
        return None
    user, _, password = login.partition(":")
    return Login(user=unquote(user), password=unquote(password))


def protected(url: str, login: Login | None = None) -> Protected:
    """Return an address with the credentials in it, else with others.

    Args:
        url: Address, with or without credentials.
        login: Credentials to use if the address has none.
    """
    return Protected(url=without_login(url), login=_login_in(url) or login)


def with_login(logins: Logins, url: str) -> Logins:
    """Return credentials extended by those in an address, if any, for its whole origin.

    Example:
        >>> with_login(Logins(), "http://me:secret@mirror.example/debian").find("http://mirror.example/pool/x.deb")
        Login(user='me')
        >>> with_login(Logins(), "http://[").indexes, with_login(Logins(), "http://mirror.example/debian").indexes
        ((), ())
    """
    if scheme_of(url) not in {"http", "https"} or _login_in(url) is None:
        return logins
    return replace(logins, indexes=(*logins.indexes, protected(url)))


def netrc_logins(environ: Mapping[str, str], home: Path) -> dict[str, Login]:
    """Return the credentials of `NETRC`, else of `~/.netrc`, by host.

    The result is empty if the file is missing or cannot be parsed, as for pip and uv.
    """
    path = environ.get("NETRC") or os.fspath(home / ".netrc")
    try:
        found = netrc.netrc(path).hosts
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return {}
    return {host: Login(user=user, password=password or "") for host, (user, _, password) in found.items()}


def _shared(index: str, url: str) -> int:
    """Return the number of leading directories that two paths have in common."""
    one, other = (PurePosixPath(urlsplit(each).path).parts for each in (index, url))
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
