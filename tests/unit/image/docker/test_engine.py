import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.core.errors import DiskFull, EngineError, EngineLost, EngineUnavailable
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import Builder, BuildEvent, BuildRequest, StepOutput
from envbuilder.image.container_engine import ContainerEngine
from envbuilder.image.docker.engine import connect, is_there
from tests.unit.image.docker import dying
from tests.unit.image.docker.dying import line

REFERENCE = ImageRef.parse("localhost:5000/x:1")


def silent(_: BuildEvent) -> None:
    """A listener that does not care."""


def build(engine: ContainerEngine, folder: Path, heard: list[BuildEvent]) -> None:
    for name in ("Dockerfile", "Dockerfile.classic"):
        (folder / name).write_text("FROM base\n", encoding="utf-8")
    engine.build(BuildRequest(folder=folder, tags=("x:1",), builder=Builder.BUILDKIT), heard.append)


def test_connecting_neither_opens_nor_imports_anything() -> None:
    code = "import sys; from envbuilder.image.docker.engine import connect; connect({}); print('docker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:9"])
def test_no_engine_is_said_with_how_to_start_one(host: str) -> None:
    with pytest.raises(EngineUnavailable, match="no container engine answers") as caught:
        connect({"DOCKER_HOST": host}).info()
    assert "dockerd" in caught.value.hint


@pytest.mark.parametrize("host", ["nonsense://x", "tcp://"])
def test_an_address_that_is_none_is_an_unavailable_engine(host: str) -> None:
    with pytest.raises(EngineUnavailable):
        connect({"DOCKER_HOST": host}).info()


def test_certificates_that_are_not_there_are_an_unavailable_engine(tmp_path: Path) -> None:
    environ = {"DOCKER_HOST": "tcp://127.0.0.1:9", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    with pytest.raises(EngineUnavailable, match="settings") as caught:
        connect(environ).info()
    assert "DOCKER_CERT_PATH" in caught.value.hint


@pytest.mark.parametrize(
    "answer",
    [
        (line({"stream": "begun"}),),
        (line({"stream": "begun"}), b""),
        (line({"stream": "begun"}), b'{"stream": "brok'),
        (line({"stream": "begun"}), b'{"stream": "brok', b""),
    ],
    ids=["connection-breaks", "no-last-word", "breaks-in-a-message", "ends-in-a-message"],
)
def test_an_engine_that_dies_in_the_middle_of_a_build_is_lost(tmp_path: Path, answer: tuple[bytes, ...]) -> None:
    with dying.engine({"/build": answer}) as (environ, _), pytest.raises(EngineLost):
        build(connect(environ), tmp_path, [])


def test_progress_that_cannot_be_read_does_not_lose_the_build(tmp_path: Path) -> None:
    heard: list[BuildEvent] = []
    answer = (line({"id": "moby.buildkit.trace", "aux": "CwAA"}), line({"error": "no space left on device"}), b"")
    with dying.engine({"/build": answer}) as (environ, _), pytest.raises(DiskFull):
        build(connect(environ), tmp_path, heard)
    assert [type(event) for event in heard] == [StepOutput]


def test_what_a_listener_raises_cancels_the_build_and_tags_nothing(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM base\n", encoding="utf-8")

    def refuse(_: BuildEvent) -> None:
        raise KeyboardInterrupt

    answer = (
        line({"id": "moby.buildkit.trace", "aux": "CwAA"}),
        line({"id": "moby.image.id", "aux": {"ID": "x"}}),
        b"",
    )
    with dying.engine({"/build": answer}) as (environ, asked):
        with pytest.raises(KeyboardInterrupt):
            connect(environ).build(BuildRequest(folder=tmp_path, tags=("x:1",), builder=Builder.BUILDKIT), refuse)
        assert asked == ["/version", "/build", "/build/cancel"]


def test_a_push_without_a_last_word_is_a_lost_engine() -> None:
    answer = (line({"status": "Pushing", "id": "1", "progressDetail": {"current": 5, "total": 9}}), b"")
    with dying.engine({"/images/localhost:5000/x/push": answer}) as (environ, _), pytest.raises(EngineLost):
        connect(environ).push(REFERENCE, silent)


def test_a_load_that_fails_says_why(tmp_path: Path) -> None:
    archive = tmp_path / "broken.tar"
    archive.write_bytes(bytes(1024))
    answer = (line({"errorDetail": {"message": "invalid archive"}}), b"")
    with (
        dying.engine({"/images/load": answer}) as (environ, _),
        pytest.raises(EngineError, match="invalid archive"),
    ):
        connect(environ).load(archive)


def test_two_threads_that_import_the_sdk_do_not_get_it_half_made() -> None:
    code = (
        "import threading\n"
        "from envbuilder.image.docker.engine import connect, default_registry\n"
        "from envbuilder.core.errors import EngineUnavailable\n"
        "def ask():\n"
        "    try:\n"
        "        connect({'DOCKER_HOST': 'tcp://127.0.0.1:9'}, timeout=1).info()\n"
        "    except EngineUnavailable:\n"
        "        print('unavailable')\n"
        "threads = [threading.Thread(target=work) for work in (ask, default_registry)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("unavailable\n", "")


def test_whether_an_engine_may_be_there_is_known_without_asking(tmp_path: Path) -> None:
    assert is_there({"DOCKER_HOST": "tcp://127.0.0.1:9"})
