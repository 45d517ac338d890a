"""The registered engines: their features, and the selection of one for a build or an image."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from envbuilder.catalog.selection import meant
from envbuilder.core.errors import EngineUnavailable, UsageError
from envbuilder.core.references import image_name, repository_of
from envbuilder.image.assemble_builder import AssembleBuilder
from envbuilder.image.builder import BuildOptions, Engine, Feature, ImageBuilder, default_names
from envbuilder.image.docker.image_builder import DockerBuilder
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.run import FollowingEngine
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import LOCK, read_lock
from envbuilder.lock.targets import default_name, image_words
from envbuilder.wiring.build_inputs import DockerIngredients, assembly_context, delivery, image_runner
from envbuilder.wiring.image_names import checked_reference
from envbuilder.wiring.layer_caches import caches_to_use
from envbuilder.wiring.locks import keep_image
from envbuilder.wiring.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One engine.

    Attributes:
        is_available: Returns True if it can build on this machine; may report the reason why not.
        runner: Returns the runner that finds its images, and runs commands in them.
        own_network: Whether its containers have a network of their own, and not that of this host.
    """

    make: Callable[[Session], ImageBuilder]
    features: frozenset[Feature]
    is_available: Callable[[Session], bool]
    runner: Callable[[Session], FollowingEngine]
    own_network: bool = False


def docker_builder(session: Session) -> DockerBuilder:
    """Return the builder of the engine `docker`."""
    settings = session.settings
    return DockerBuilder(
        engine=session.engine,
        ingredients=DockerIngredients(session),
        templates=settings.templates,
        work=settings.use("work"),
        proxies=settings.proxies,
        progress=session.progress,
    )


def _assemble_builder(session: Session) -> AssembleBuilder:
    return AssembleBuilder(
        context=partial(_context, session),
        delivery=delivery(session),
        records=session.records,
        keep_lock=partial(keep_image, session),
    )


def _context(session: Session, sources: Sources, options: BuildOptions, names: Sequence[str]) -> AssemblyContext:
    pushed = names if options.push else ()
    cache, writer = caches_to_use(session, sources, write=options.cache_to, pushed=pushed, offline=options.offline)
    context = assembly_context(session, sources, jobs=options.jobs, offline=options.offline)
    return replace(context, cache=cache, cache_writer=writer)


def _docker_answers(session: Session) -> bool:
    try:
        session.engine.info()
    except EngineUnavailable:
        session.progress("no container engine answers; assembling the image without one")
        return False
    return True


ENGINES: Mapping[Engine, Registration] = {
    Engine.DOCKER: Registration(
        make=docker_builder,
        features=frozenset(),
        is_available=_docker_answers,
        runner=lambda session: session.engine,
        own_network=True,
    ),
    Engine.ASSEMBLE: Registration(
        make=_assemble_builder,
        features=frozenset(Feature),
        is_available=lambda _session: True,
        runner=image_runner,
    ),
}
"""In the order in which `auto` tries them."""


def chosen_engine(session: Session, engine: Engine, features: Collection[Feature]) -> Engine:
    """Return the engine that builds: the named one, or the first available one with the requested features.

    Raises:
        UsageError: The named engine does not support a feature.
    """
    able = [each for each, registered in ENGINES.items() if registered.features >= frozenset(features)]
    if engine is Engine.AUTO:
        return next(each for each in able if each is able[-1] or ENGINES[each].is_available(session))
    if engine not in able:
        asked = ", ".join(sorted(set(features) - ENGINES[engine].features))
        raise UsageError(f"the engine {engine} does not support {asked}", hint=f"use --engine {able[0]}")
    return engine


def runner_of(session: Session, image: str, engine: Engine) -> FollowingEngine:
    """Return the runner for an image: of the named engine, or of the first that has the image, or that answers."""
    return ENGINES[engine_with(session, image, engine)].runner(session)


def engine_with(session: Session, image: str, engine: Engine) -> Engine:
    """Return the named engine, or the first that has an image, or that answers."""
    if engine is not Engine.AUTO:
        return engine
    answering = []
    for each, registered in ENGINES.items():
        try:
            if registered.runner(session).image(image) is not None:
                return each
            answering.append(each)
        except EngineUnavailable:
            session.progress("no container engine answers; looking among the assembled images")
    return answering[0]


def reference_of(session: Session, name: str, engine: Engine) -> str:
    """Return the reference of an image: of a lock or an environment, one built with this name, or the name itself.

    The short name of a release means its environment only if no image was built with it. `envbuilder/` may be omitted
    before a name with a tag, too.

    Raises:
        UsageError: It is not a reference; or the short name of a release with several environments.
    """
    if _is_lock(name):
        lock = read_lock(Path(name))
        given = lock.name or default_name(
            Path(name), lock.environment, [row.id for row in session.catalog.environments]
        )
        return default_names(replace(lock, name=given))[0]
    try:
        built = f"{repository_of(image_name(name))}:latest"
    except ValueError:
        return _tagged(session, checked_reference(name), engine)
    if session.catalog.environment(name):
        return built
    if _is_built(session, built, engine):
        return built
    row = meant(session.catalog, name)
    if row:
        return f"{repository_of(row.id)}:latest"
    # The image of a lock in the directory seq_tagging is called seq-tagging.
    of_directory = f"{repository_of(image_words(name))}:latest"
    return of_directory if _is_built(session, of_directory, engine) else name


def path_or_reference(session: Session, name: str, engine: Engine) -> str:
    """Return the path of an image file or of a layout as it is, and for any other name, a lock, too, its reference.

    Raises:
        UsageError: As of `reference_of`.
    """
    return name if Path(name).exists() and not _is_lock(name) else reference_of(session, name, engine)


def _is_lock(name: str) -> bool:
    return name.endswith(LOCK.suffix) and Path(name).is_file()


def _tagged(session: Session, name: str, engine: Engine) -> str:
    """Return `envbuilder/NAME:TAG` for `NAME:TAG` if there is an image of the first name only; else the name itself."""
    built = repository_of(name)
    if "/" in name or _is_built(session, name, engine) or not _is_built(session, built, engine):
        return name
    return built


def _is_built(session: Session, image: str, engine: Engine) -> bool:
    # The last engine first: it needs no daemon.
    asked = reversed(tuple(ENGINES)) if engine is Engine.AUTO else (engine,)
    return any(_has(session, each, image) for each in asked)


def _has(session: Session, engine: Engine, image: str) -> bool:
    try:
        return ENGINES[engine].runner(session).image(image) is not None
    except EngineUnavailable:
        return False
