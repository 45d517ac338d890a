"""Images of environments and locks with the tools of a profile."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.core.errors import EngineUnavailable
from envbuilder.core.names import requirement_name
from envbuilder.core.references import ImageRef, repository_of
from envbuilder.image.builder import BuildOptions, Engine, ImageRequest, default_names
from envbuilder.image.plan.layers import LABEL_LOCK
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.obtain import obtain_with_profile
from envbuilder.lock.profiles import ChosenProfile, chosen_profiles, with_profiles
from envbuilder.wiring.engines import ENGINES
from envbuilder.wiring.image_requests import image_request
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import package_resolver, package_sizes

_DIGITS = 12


def request_with(session: Session, target: str | None, profile: str, sources: Sources) -> ImageRequest:
    """Return the image of an environment or a lock with a profile; a lock that has its packages is used as it is.

    Raises:
        UsageError: The target or the profile is unknown.
        ResolutionFailed: No versions of the profile's packages go with those of the lock.
    """
    lock, merged = obtain_lock(session, target, sources)
    [chosen] = chosen_profiles(session.catalog, (profile,), Version(lock.framework_version))
    names = {pin.name for pin in lock.packages}
    if names.issuperset(map(requirement_name, chosen.requirements)):
        return image_request(session, lock, merged, default_names(lock), offline=False)
    complete = obtain_with_profile(
        session.settings.use("locks"), lock, chosen, lambda: _extended(session, lock, chosen, merged), session.progress
    )
    repository = repository_of(lock.name or lock.environment)
    tags = ("-".join(complete.profiles), digest(complete).removeprefix("sha256:")[:_DIGITS])
    return image_request(session, complete, merged, tuple(f"{repository}:{tag}" for tag in tags), offline=False)


def built(session: Session, request: ImageRequest, engine: Engine) -> str:
    """Return the reference of an image after building it, unless the engine has it already."""
    reference = request.names[0]
    if _has(session, engine, reference, request.lock):
        session.progress(f"using the image {ImageRef.parse(reference)}")
    else:
        ENGINES[engine].make(session).build((request,), BuildOptions(), session.listener)
    return reference


def _has(session: Session, engine: Engine, reference: str, lock: Lock) -> bool:
    try:
        found = ENGINES[engine].runner(session).image(reference)
    except EngineUnavailable:
        return False  # The build says it with more words.
    return found is not None and found.label(LABEL_LOCK) == digest(lock)


def _extended(session: Session, lock: Lock, profile: ChosenProfile, sources: Sources) -> Lock:
    """Return a lock with a profile, as the package index has its packages."""
    session.progress(f"resolving the tools of {profile.id}")
    resolver = package_resolver(session.settings, sources)
    return with_profiles(lock, session.catalog, (profile,), resolver, package_sizes(session, sources))
