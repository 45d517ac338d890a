"""`envbuilder base bootstrap SUITE` and `envbuilder base list`."""

from __future__ import annotations

import click

from envbuilder.catalog.environments import BaseSystem, Catalog
from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.groups import Group
from envbuilder.cli.options import mirror_options
from envbuilder.cli.output.printing import json_option, print_json, table
from envbuilder.cli.output.progress import watched
from envbuilder.cli.session import command_session
from envbuilder.core.digests import shortened
from envbuilder.core.errors import EngineUnavailable, UsageError
from envbuilder.core.references import ImageRef
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.image.plan.layers import base_reference
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.build_inputs import engine_bases
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import debian_trees


@click.group("base", cls=Group)
def command() -> None:
    """Create and list bases of Debian and Ubuntu packages."""


@command.command("bootstrap")
@click.argument("suite")
@mirror_options
@click.option("--push", "registry", metavar="HOST[:PORT]", default="", help="Also push it to a registry, as a mirror.")
@json_option
def bootstrap(suite: str, mirrors: Sources, registry: str, *, as_json: bool) -> None:
    """Create a base of Debian or Ubuntu packages.

    SUITE is, for example, bookworm or bionic, or the id of a base. The base is loaded into the container engine;
    without an engine, it is kept in the cache directory. The same packages give the same bytes on every machine.
    """
    with watched(command_session(), "base") as (session, _):
        system = _system(session.catalog, suite)
        tree = debian_trees(session, mirrors).unpack(system)
        reference = base_reference(system.kind, system.id, "", tree.digest)
        loaded = _load(session, tree.id, tree.digest, reference)
        pushed = _push(session, reference, registry) if registry else ""
    if as_json:
        image = reference if loaded else None
        print_json(document_of(documents.BaseBootstrap, tree, image=image, pushed=pushed))
        return
    click.echo(f"{tree.id}: {len(tree.packages)} packages, {size(tree.size)}")
    click.echo(f"  {tree.digest}")
    click.echo(
        f"in the engine as {reference}" if loaded else "no container engine is available; kept in the cache directory"
    )
    if pushed:
        click.echo(f"pushed {pushed}; use it with --registry-mirror {registry}")


@command.command("list")
@json_option
def listing(*, as_json: bool) -> None:
    """List the bases of the catalog.

    HERE is the digest of a base of packages that is in the cache directory. FROM, an image or the suite of a
    distribution, is left out on a narrow terminal.
    """
    session = command_session()
    rows = []
    for system in session.catalog.bases:
        tree = session.trees.current(system.id) if system.kind.is_tree else None
        rows.append((system, tree.digest if tree else ""))
    if as_json:
        bases = [document_of(documents.ListedBase, system, tree=digest) for system, digest in rows]
        print_json({"schema": 1, "bases": bases})
        return
    header = ("BASE", "PYTHON", "GLIBC", "CUDA", "HERE", "FROM")
    click.echo(table(header, [_line(system, digest) for system, digest in rows], optional=len(header) - 1))


def _line(system: BaseSystem, digest: str) -> tuple[str, ...]:
    here = shortened(digest) or "-"
    return (
        system.id,
        str(system.python),
        str(system.glibc),
        str(system.cuda or "-"),
        here,
        system.image or system.suite,
    )


def _system(catalog: Catalog, suite: str) -> BaseSystem:
    trees = [system for system in catalog.bases if system.kind.is_tree]
    for system in trees:
        if suite in {system.suite, system.id}:
            return system
    known = ", ".join(system.suite for system in trees)
    raise UsageError(f"the catalog has no base of packages {suite!r}", hint=f"it has {known}")


def _load(session: Session, base: str, digest: str, reference: ImageRef) -> bool:
    tree = session.trees.get(base, digest)
    if tree is None:
        return False
    try:
        engine_bases(session, Sources()).load(tree, reference)
    except EngineUnavailable:
        return False
    return True


def _push(session: Session, reference: ImageRef, registry: str) -> str:
    engine = session.engine
    known = engine.image(str(reference))
    if known is None:
        raise EngineUnavailable("pushing needs an engine", hint="start a container engine, then run the command again")
    mirrored = reference.at_registry(registry)
    engine.tag(known.id, mirrored)
    engine.push(mirrored, session.listener)
    return str(mirrored)
