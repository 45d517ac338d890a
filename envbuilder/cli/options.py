"""Options that several verbs share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from envbuilder.model.locks import Sources

F = TypeVar("F", bound=Callable[..., Any])
_ARCHIVE = click.Path(exists=True, dir_okay=False)


def source_options(command: F) -> F:
    """Where to fetch from; the verb gets them as `sources`."""

    @click.option("--registry-mirror", metavar="HOST[:PORT]", default="", help="Registry that serves the base images.")
    @click.option("--debian-mirror", metavar="URL", default="", help="Debian archive. Default: what this host uses.")
    @click.option("--index", metavar="URL", default="", help="Package index. Default: uv's own configuration.")
    @click.option("--python-archive", metavar="FILE", multiple=True, type=_ARCHIVE, help="Interpreter archive to use.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,  # noqa: ANN401  whatever the verb takes
        registry_mirror: str,
        debian_mirror: str,
        index: str,
        python_archive: tuple[str, ...],
        **others: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        sources = Sources(
            registry_mirror=registry_mirror, debian_mirror=debian_mirror, index=index, python_archives=python_archive
        )
        return command(*args, sources=sources, **others)

    return cast("F", wrapped)
