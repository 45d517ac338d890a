"""`scan` finds the lock of an image where it is: in a file, in the engine, or stated by the catalog."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.image.builder import Engine
from envbuilder.lock.lockfile import digest, dump
from envbuilder.oci.runtime.command import RunResult
from envbuilder.wiring.scanning import scanned_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import real_catalog
from tests.fakes.engine import FakeEngine, fake_image
from tests.unit.cli.running import CommandLine
from tests.unit.diagnostics.vulnerabilities.made import lock_of, pin

LOCK = lock_of(pin("six", "1.16.0"))


@pytest.fixture
def session(envbuilder: CommandLine) -> Session:
    made = Session(settings(), real_catalog(), lambda _: None)
    answer = RunResult(status=0, stdout=dump(LOCK).encode(), stderr=b"", timed_out=False)
    made.__dict__["engine"] = FakeEngine(images={"team/tf:1": fake_image("tf")}, results=[answer])
    return made


def test_an_image_of_the_engine_prints_its_lock(session: Session) -> None:
    assert digest(scanned_lock(session, "team/tf:1", "", Engine.AUTO)) == digest(LOCK)


def test_a_directory_stands_for_its_lock(session: Session, envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.lock", dump(LOCK))
    assert scanned_lock(session, str(envbuilder.folder), "", Engine.AUTO) == LOCK
    assert scanned_lock(session, None, "", Engine.AUTO) == LOCK


def test_an_environment_is_stated_without_a_build(session: Session) -> None:
    assert scanned_lock(session, "tf-2.15-cpu", "", Engine.AUTO).environment == "tf-2.15-cpu"


def test_what_is_nowhere_is_refused(session: Session) -> None:
    with pytest.raises(UsageError, match="not a path, an assembled image or an image of the engine: team/other:1"):
        scanned_lock(session, "team/other:1", "", Engine.AUTO)
