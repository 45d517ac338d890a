"""Lock, build and validate images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import named
from envbuilder.core.files import read_text, write_text
from envbuilder.diagnostics import validate as validation
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.image.builder import BuildOptions, BuiltImage, Engine
from envbuilder.image.container_engine import Listener
from envbuilder.image.pinned_files import keep_own_files
from envbuilder.lock import lockfile
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.obtain import refuse_unpinned
from envbuilder.lock.spec import Spec, with_sources
from envbuilder.lock.targets import load_spec
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.engines import ENGINES, chosen_engine
from envbuilder.wiring.image_requests import Selection, checked, requests_for
from envbuilder.wiring.locks import locked, unpinned_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.spec_catalogs import catalog_of_spec
from envbuilder.wiring.trust import report_lock_trust, report_spec_trust
from envbuilder.wiring.validation import ValidationRequest, reports_on


def ignore(_: object) -> None:
    """Ignore a message or an event."""


@contextmanager
def opened(
    progress: Callable[[str], None] = ignore, listener: Listener = ignore, spec: Path | None = None
) -> Iterator[Session]:
    """Yield a session with the settings of this process; files that it holds open are closed afterwards.

    Args:
        progress: Receives lines of text.
        listener: Receives events of a build.
        spec: File of a spec, which may name catalogs of its own.
    """
    with ExitStack() as stack:
        here = settings(on_close=stack.callback)
        catalog = catalog_of_spec(here, spec, progress) if spec else known_catalog(here, progress=progress)
        yield Session(here, catalog, progress, listener)


_NO_SOURCES = Sources()
_NO_OPTIONS = BuildOptions()


def lock(
    what: str | Path | Spec,
    *,
    sources: Sources = _NO_SOURCES,
    offline: bool = False,
    progress: Callable[[str], None] = ignore,
) -> Lock:
    """Return the lock of an environment or a spec: every file of the image, with its hash.

    The packages of an environment are those that ship with it, so the same call gives the same packages on every day.

    Args:
        what: Id of an environment, path of an `envbuilder.yaml`, or a spec.
        sources: Sources of the files, in place of those of the spec and of this host.
        offline: Fetch no base, interpreter or OS package. What the cache does not have is then not pinned
            (`Lock.unpinned`), and the lock cannot be built; it is enough for `validate_facts`.
        progress: Progress callback; receives one line of text.

    Raises:
        UsageError: There is no such environment or file.
        InvalidInput: The spec is invalid; carries every fault with its line.
        NoUsableBase: No base of the environment is available.
        ResolutionFailed: Own packages conflict with those of the environment.

    Example:
        >>> made = lock("tf-2.15-cpu", offline=True)
        >>> made.environment, made.framework, made.framework_version
        ('tf-2.15-cpu', 'tensorflow-cpu', '2.15.1')
        >>> [pin.version for pin in made.packages if pin.name == "keras"]
        ['2.15.0']
        >>> lock("tf-2.15-cuda99")
        Traceback (most recent call last):
        envbuilder.core.errors.UnknownEnvironment: unknown environment: 'tf-2.15-cuda99'
    """
    with opened(progress, spec=what if isinstance(what, Path) else None) as session:
        spec = with_sources(_spec(session.catalog, what), sources)
        report_spec_trust(session, spec)
        made = unpinned_lock(session, spec) if offline else locked(session, spec)
        keep_own_files(spec.files, session.store)
        return made


def build(  # noqa: PLR0913  one for each part of the request
    lock: Lock,
    *,
    names: Sequence[str] = (),
    engine: Engine = Engine.AUTO,
    options: BuildOptions = _NO_OPTIONS,
    sources: Sources = _NO_SOURCES,
    progress: Callable[[str], None] = ignore,
    listener: Listener = ignore,
) -> BuiltImage:
    """Build the image of a lock, from the files of the lock only.

    Args:
        lock: The lock.
        names: `repository:tag` of the image; empty means `envbuilder/NAME`, as `latest` and by the lock's digest.
        engine: Engine; `auto` takes Docker where it answers, and else writes the image without a daemon.
        options: Destinations and further options; a layout or an archive is `BuildOptions(output=Path("image.tar"))`.
        sources: Sources of the files.
        progress: Progress callback; receives one line of text.
        listener: Receives the events of the build.

    Raises:
        UsageError: The lock does not pin everything, a name is not a reference, or the engine lacks a feature.
        SourceUnreachable: A file cannot be fetched.
        VerificationFailed: A file does not have the hash of the lock.
        BuildFailed: A step failed.
    """
    refuse_unpinned(lock, "the lock")
    selection = checked(Selection(tags=tuple(names)), push=options.push)
    with opened(progress, listener) as session:
        own = replace(sources, layer_caches=options.cache_from or sources.layer_caches)
        report_lock_trust(session, lock, own)
        chosen = chosen_engine(session, engine, options.features)
        requests = requests_for(session, [(lock, own)], selection.tags, offline=options.offline)
        [image] = ENGINES[chosen].make(session).build(requests, options, listener)
        return image


def validate(  # noqa: PLR0913  one for each part of the request
    image: str,
    *,
    lock: Lock | None = None,
    tier: Tier | None = None,
    required: Tier | None = None,
    engine: Engine = Engine.AUTO,
    timeout: float = 900.0,
    progress: Callable[[str], None] = ignore,
) -> Report:
    """Check an image against its lock, by running TensorFlow in it.

    Args:
        image: Name of an image, or id of an environment.
        lock: Lock to check against; None for the one in the image.
        tier: Extent; None means GPUs if the engine has some, else the processor.
        required: Tier that must be proven: `Tier.GPU` makes a missing GPU a failure.
        engine: Engine that has the image.
        timeout: Seconds for the probe.
        progress: Progress callback; receives one line of text.

    Returns:
        `Report.passed` is False if a check failed, or was required and could not run. Failed checks do not raise.

    Raises:
        UsageError: There is no such image, or it has no lock.
        ToolFailed: The probe gave no answer.
    """
    asked = ValidationRequest(image=image, engine=engine, tier=tier, required=required, lock=lock, timeout=timeout)
    with opened(progress) as session:
        [report] = reports_on(session, asked, read_text, lambda _environment, _base: None)
        return report


def validate_facts(
    facts: str | bytes,
    lock: Lock,
    *,
    tier: Tier | None = None,
    required: Tier | None = None,
    subject: str = "facts",
) -> Report:
    """Check what the probe saw on another machine against a lock.

    Args:
        facts: Output of the probe (`envbuilder probe`), a JSON document.
        lock: The expected pins.
        tier: Extent of the facts; None means GPUs if the probe was asked to compute on them.
        required: Tier that must be proven.
        subject: Name for the report.

    Raises:
        InvalidInput: It is not a document of the probe.

    Example:
        >>> report = validate_facts('{"schema": 1, "seconds": 0.1, "facts": {}}', lock("tf-2.15-cpu", offline=True))
        >>> report.passed, {type(result.outcome).__name__ for result in report.results}
        (False, {'NotProven'})
    """
    seen = decode(facts, subject)
    with opened() as session:
        return validation.validate_facts(
            session.catalog, lock, seen, tier=tier, required=required, subject=subject, seconds=seen.seconds
        )


def _spec(catalog: Catalog, what: str | Path | Spec) -> Spec:
    if isinstance(what, Spec):
        return what
    if isinstance(what, Path):
        return load_spec(what, catalog)
    return Spec(environment=named(catalog, what).id)


def read_lock(path: Path) -> Lock:
    """Read a lock from a file.

    Raises:
        InvalidInput: It is not a lock; carries every fault with its line.
    """
    return lockfile.read_lock(path)


def write_lock(lock: Lock, path: Path) -> None:
    """Write a lock in its canonical form: equal locks are equal bytes."""
    write_text(path, lockfile.dump(lock))
