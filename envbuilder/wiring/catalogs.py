"""The catalogs of this host: that of envbuilder, and those of teams that the user names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import assert_never

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.references import (
    CatalogPlace,
    CatalogReference,
    DirectoryReference,
    GitReference,
    catalog_reference,
)
from envbuilder.core.errors import UsageError, without_logins
from envbuilder.wiring.configuration import CATALOGS, Given
from envbuilder.wiring.settings import Settings


def known_catalog(
    here: Settings, named: Iterable[CatalogReference] = (), *, progress: Callable[[str], None] = lambda _: None
) -> Catalog:
    """Return the environments of envbuilder and of teams.

    Catalogs that a spec names (`named`) replace those of this host.

    Raises:
        UsageError: A directory does not exist.
        SourceUnreachable: A repository cannot be read.
        InvalidInput: A catalog is invalid.
    """
    references = tuple(named) or configured_catalogs(here)
    if not references:
        return load_catalog(here.matrices)
    # Most commands have none, and start faster without it.
    from envbuilder.catalog.load.team_catalogs import load_with_teams  # noqa: PLC0415

    return load_with_teams(here.matrices, tuple(_place(here, reference, progress) for reference in references))


def configured_catalogs(here: Settings) -> tuple[CatalogReference, ...]:
    """Return the catalogs of the configuration of this user.

    Raises:
        UsageError: It names something else.
    """
    given = here.given(CATALOGS)
    return tuple(_reference(word, given) for word in given.words) if given else ()


def _reference(word: str, given: Given) -> CatalogReference:
    try:
        reference = catalog_reference(word)
    except ValueError as error:
        raise UsageError(f"{given.origin}: {without_logins(word)} {error}") from error
    if isinstance(reference, DirectoryReference):
        return DirectoryReference(path=str(given.folder / Path(word).expanduser()))
    return reference


def _place(here: Settings, reference: CatalogReference, progress: Callable[[str], None]) -> CatalogPlace:
    match reference:
        case DirectoryReference(path=path):
            folder = Path(path)
            if not folder.is_dir():
                raise UsageError(f"the catalog {path} is not a directory", hint="for a repository: git+URL@COMMIT")
            return CatalogPlace(folder=folder)
        case GitReference():
            # Most commands have no such catalog, and start faster without it.
            from envbuilder.wiring.git_catalogs import fetched_catalog  # noqa: PLC0415

            folder = fetched_catalog(reference, here.use("catalogs"), here.environ, progress)
            return CatalogPlace(folder=folder, address=reference.address, commit=reference.commit)
        case _:
            assert_never(reference)
