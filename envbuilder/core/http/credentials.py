"""Credentials for package indexes and mirrors: from their addresses, from the environment and from netrc."""

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
"""The hint of an error about missing or wrong credentials."""

_ANY_HOST = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """User and password.

    Attributes:
        user: Name of the user; may be empty when a token is all that is needed.
        password: Never shown.
    """

    user: str
    password: str = field(repr=False)

    @property
    def authorization(self) -> str:
        """The value of the header `Authorization`."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode('ascii')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """An address below which credentials may be used.

    Attributes:
        url: Address without user and password.
        login: Credentials; None leaves them to netrc.
    """

    url: str
    login: Login | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """Credentials, and the addresses that may get them.

    Attributes:
        indexes: Package indexes that were named; their credentials are for their own origins only.
        hosts: Credentials of netrc by host. The entry `default` is used for the origins of `indexes` only.
    """

    indexes: tuple[Protected, ...] = ()
    hosts: Mapping[str, Login] = field(default_factory=dict)

    def find(self, url: str) -> Login | None:
        """Return the credentials for an address; None for an address that gets none.

        An address gets those that are written in it, else those of an index on its origin, else those that netrc has
        for its host. Netrc is not used over plain http, except for an origin that is an index.

        Example:
            >>> here = Login(user="me", password="secret")
            >>> logins = Logins(indexes=(Protected(url="https://index.example/simple/", login=here),))
            >>> logins.find("https://index.example/files/x.whl")
            Login(user='me')
            >>> logins.find("https://files.example/x.whl"), logins.find("http://index.example/files/x.whl")
            (None, None)
        """
        own = login_in(url)
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


def login_in(url: str) -> Login | None:
    """Return the user and the password that are written in an address; None when there are none.

    Example:
        >>> login_in("https://me:p%40ss@index.example/simple/").authorization
        'Basic bWU6cEBzcw=='
    """
    login, at, _ = urlsplit(url).netloc.rpartition("@")
    if not at:
        return None
    user, _, password = login.partition(":")
    return Login(user=unquote(user), password=unquote(password))


def protected(url: str, login: Login | None = None) -> Protected:
    """Return an address with the credentials that are written in it, else with others.

    Args:
        url: Address, with or without credentials.
        login: Credentials to use when the address has none.
    """
    return Protected(url=without_login(url), login=login_in(url) or login)


def with_login(logins: Logins, url: str) -> Logins:
    """Return credentials with those that are written in an address, for all of its origin; it may have none.

    Example:
        >>> with_login(Logins(), "http://me:secret@mirror.example/debian").find("http://mirror.example/pool/x.deb")
        Login(user='me')
        >>> with_login(Logins(), "http://[").indexes, with_login(Logins(), "http://mirror.example/debian").indexes
        ((), ())
    """
    if scheme_of(url) not in {"http", "https"} or login_in(url) is None:
        return logins
    return replace(logins, indexes=(*logins.indexes, protected(url)))


def netrc_logins(environ: Mapping[str, str], home: Path) -> dict[str, Login]:
    """Return the credentials of `NETRC`, else of `~/.netrc`, by host.

    A file that is missing or cannot be parsed gives none, as for pip and uv.
    """
    path = environ.get("NETRC") or os.fspath(home / ".netrc")
    try:
        found = netrc.netrc(path).hosts
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return {}
    return {host: Login(user=user, password=password or "") for host, (user, _, password) in found.items()}


def _shared(index: str, url: str) -> int:
    """Return how many directories at the beginning of two paths are the same."""
    one, other = (PurePosixPath(urlsplit(each).path).parts for each in (index, url))
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
