"""What only an engine that really runs things can show."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.core.errors import EngineError, UsageError
from envbuilder.image.builds import BuildEvent
from envbuilder.image.docker.engine import connect
from envbuilder.image.render import rendered
from envbuilder.image.running.changes import kept_in, remove_kept
from envbuilder.image.running.kept_images import container_of
from envbuilder.image.vendor.placement import library_links, library_path, license_path
from envbuilder.oci.runtime.command import Caller, Console, PublishedPort, RunRequest
from tests.contract.conftest import World, on_docker
from tests.contract.processes import gone, running
from tests.fakes.catalogs import TEMPLATES, good_lock
from tests.fakes.vendor_archives import pin_of, with_archives

pytestmark = pytest.mark.xdist_group("engine")


def silent(_: BuildEvent) -> None:
    """A listener that does not care."""


@on_docker
def test_an_interrupted_run_leaves_nothing_running(world: World) -> None:
    word = world.unique()
    seen_running: list[bool] = []

    def interrupt(*_: object) -> None:
        # The engine may take seconds to start the container.
        if running(word):
            seen_running.append(True)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            world.engine.run(RunRequest(image=world.base, command=("/bin/sh", "-c", f"sleep 60; echo after-{word}")))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen_running == [True]
    assert gone(word)


@on_docker
def test_a_run_has_its_environment_its_user_and_no_way_to_more_rights(world: World) -> None:
    request = RunRequest(
        image=world.base,
        command=("/bin/sh", "-c", "echo $WORD; cat /proc/self/status"),
        env=(("WORD", "given"),),
        user="1234",
    )
    lines = world.engine.run(request).stdout.decode().splitlines()
    assert lines[0] == "given"
    assert "NoNewPrivs:\t1" in lines
    assert next(line.split()[1] for line in lines if line.startswith("Uid:")) == "1234"


@on_docker
def test_a_run_has_no_network_unless_it_asks(world: World) -> None:
    request = RunRequest(image=world.base, command=("/bin/cat", "/proc/net/dev"))
    inside = world.engine.run(request).stdout
    host = world.engine.run(replace(request, network="host")).stdout
    assert len(inside.splitlines()) <= len(host.splitlines())
    assert b"eth" not in inside


@on_docker
def test_what_is_mounted_cannot_be_written(world: World, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"kept")
    request = RunRequest(
        image=world.base, command=("/bin/sh", "-c", "echo changed > /mnt/kept"), mounts=((str(path), "/mnt/kept"),)
    )
    assert world.engine.run(request).status != 0
    assert path.read_bytes() == b"kept"


@on_docker
def test_gpus_that_the_engine_does_not_have_are_refused_with_what_to_install(world: World) -> None:
    if world.engine.info().gpus:
        pytest.skip("this engine has GPUs")
    with pytest.raises(EngineError) as caught:
        world.engine.run(RunRequest(image=world.base, command=("/bin/true",), gpus=True))
    assert "NVIDIA Container Toolkit" in caught.value.hint


@on_docker
def test_a_proxy_given_to_the_build_does_not_stay_in_the_image(world: World) -> None:
    request = replace(
        world.request(f"RUN echo {world.unique()} proxy=$HTTP_PROXY > /seen"),
        args=(("HTTP_PROXY", "http://127.0.0.1:9"),),
    )
    result = world.engine.build(request, silent)
    seen = world.engine.run(RunRequest(image=result.image.id, command=("/bin/cat", "/seen")))
    assert b"proxy=http://127.0.0.1:9" in seen.stdout
    assert all("127.0.0.1:9" not in layer.created_by for layer in result.layers)


@on_docker
def test_a_build_without_the_cache_does_every_step_again(world: World) -> None:
    request = world.request(f"RUN echo {world.unique()}")
    world.engine.build(request, silent)
    again = world.engine.build(replace(request, use_cache=False), silent)
    assert not any(step.cached for step in again.steps if "RUN" in step.name)


@on_docker
def test_what_a_followed_run_writes_comes_before_it_ends_and_its_folder_can_be_changed(
    world: World, tmp_path: Path
) -> None:
    seen: list[bytes] = []

    def hear(_: int, piece: bytes) -> None:
        seen.append(piece)
        (tmp_path / "heard").touch()

    # What is written is handed on before the command ends: it waits for that.
    command = ("/bin/sh", "-c", "pwd; until test -e heard; do sleep 1; done; echo made > made; echo later")
    request = RunRequest(
        image=world.base, command=command, shared=((str(tmp_path), "/work/here"),), folder="/work/here"
    )
    assert world.engine.follow(request, Console(output=hear)) == 0
    assert b"".join(seen) == b"/work/here\nlater\n"
    assert (tmp_path / "made").read_text() == "made\n"


@on_docker
def test_an_interrupted_followed_run_leaves_nothing_running(world: World) -> None:
    word = world.unique()

    def interrupt(_: int, piece: bytes) -> None:
        assert piece == b"begun\n"
        assert running(word)
        raise KeyboardInterrupt

    command = ("/bin/sh", "-c", f"echo begun; sleep 60; echo after-{word}")
    with pytest.raises(KeyboardInterrupt):
        world.engine.follow(RunRequest(image=world.base, command=command), Console(output=interrupt))
    assert gone(word)


@on_docker
def test_a_signal_ends_a_followed_command_that_does_not_handle_it(world: World) -> None:
    if not shutil.which("docker-init"):
        pytest.skip("the engine has no init")

    def stop(_: int, piece: bytes) -> None:
        assert piece == b"begun\n"
        os.kill(os.getpid(), signal.SIGTERM)

    command = ("/bin/sh", "-c", "echo begun; exec sleep 60")
    status = world.engine.follow(RunRequest(image=world.base, command=command), Console(output=stop))
    assert status == 128 + signal.SIGTERM


@on_docker
def test_a_followed_command_that_cannot_start_has_the_status_of_a_shell(world: World) -> None:
    for command, expected in (("no-such-program", 127), ("/etc", 126), ("/etc/passwd/x", 127)):
        said: list[bytes] = []
        request = RunRequest(image=world.base, command=(command,))
        status = world.engine.follow(request, Console(output=lambda _, piece, said=said: said.append(piece)))  # type: ignore[misc]
        assert (status, b"tini" in b"".join(said)) == (expected, False), (command, said)


@on_docker
def test_a_beginning_that_looks_like_that_of_the_init_is_passed_on(world: World) -> None:
    for text in ("[", "[FATAL tini (", "[FATAL tini (x)] y\n", "[root] $ "):
        said: list[bytes] = []
        request = RunRequest(image=world.base, command=("/bin/sh", "-c", f"printf '{text}'; exit 3"))
        assert world.engine.follow(request, Console(output=lambda _, piece, said=said: said.append(piece))) == 3  # type: ignore[misc]
        assert b"".join(said) == text.encode()


@on_docker
def test_a_reader_that_goes_away_is_no_failure_of_the_engine(world: World) -> None:
    word = world.unique()

    def closed(_: int, piece: bytes) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    command = ("/bin/sh", "-c", f"echo begun; sleep 60; echo after-{word}")
    with pytest.raises(BrokenPipeError):
        world.engine.follow(RunRequest(image=world.base, command=command), Console(output=closed))
    assert gone(word)


@on_docker
def test_libraries_of_a_vendor_archive_are_in_an_image_where_assembling_puts_them(world: World) -> None:
    pin = pin_of(b"archive", ArchiveFormat.MAKESELF)
    files = rendered(with_archives(good_lock(), pin), TEMPLATES)
    dockerfile = next(file.text for file in files.texts if file.path == "Dockerfile")
    [step] = re.findall(r"^RUN (?:.*\\\n)*.*/libraries/(?:.*\\\n)*.*$", dockerfile, re.MULTILINE)
    request = world.request(*step.splitlines())
    placed = {library_path(library): library.soname.encode() for library in pin.libraries} | {
        license_path(pin): b"license"
    }
    for path, content in placed.items():
        target = request.folder / "libraries" / pin.id / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    result = world.engine.build(request, silent)

    links = {path: (Path(path).parent / target).as_posix() for path, target in library_links(pin)}
    expected = placed | {path: placed[target] for path, target in links.items()}
    for path, content in expected.items():
        ran = world.engine.run(RunRequest(image=result.image.id, command=("/bin/cat", f"/{path}")))
        assert (path, ran.stdout) == (path, content)


@on_docker
def test_standard_input_reaches_a_followed_command_to_its_end(world: World, tmp_path: Path) -> None:
    said: list[bytes] = []
    (tmp_path / "given").write_bytes(b"x" * 200_000 + b"end")
    request = RunRequest(image=world.base, command=("/bin/sh", "-c", "cat; echo; echo after"))
    with (tmp_path / "given").open("rb") as given:
        console = Console(output=lambda _, piece: said.append(piece), given=given.fileno())
        assert world.engine.follow(request, console) == 0
    assert b"".join(said).endswith(b"xend\nafter\n")


@on_docker
def test_a_caller_has_a_name_a_home_and_its_files(world: World, tmp_path: Path) -> None:
    said: list[bytes] = []
    uid = os.geteuid() or 4321
    os.chown(tmp_path, uid, -1)
    request = RunRequest(
        image=world.base,
        command=("/bin/sh", "-c", "echo $HOME; touch $HOME/x made; grep ^ada: /etc/passwd"),
        caller=Caller(uid=uid, gid=4321, name="ada"),
        shared=((str(tmp_path), "/w"),),
        folder="/w",
        writable=True,
    )
    assert world.engine.follow(request, Console(output=lambda _, piece: said.append(piece))) == 0
    assert b"".join(said).splitlines() == [b"/home/ada", f"ada:x:{uid}:4321::/home/ada:/bin/sh".encode()]
    assert (tmp_path / "made").stat().st_uid == uid


@on_docker
def test_a_published_port_is_reached_at_its_address_only(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
    wanted = PublishedPort(address="127.0.0.1", host=port, container=7007)
    request = RunRequest(
        image=world.base, command=("/bin/sh", "-c", "echo; sleep 30"), ports=(wanted,), network="default"
    )
    with pytest.raises(KeyboardInterrupt):
        world.engine.follow(request, Console(output=lambda *_: _connected(port)))
    with pytest.raises(UsageError, match="Docker cannot publish ports of a command without network"):
        world.engine.follow(replace(request, network="none"), Console(output=print))


def _connected(port: int) -> None:
    """Connect to a port of this host, then end the run."""
    with socket.create_connection(("127.0.0.1", port)):
        raise KeyboardInterrupt


def _kept(room: Path, request: RunRequest) -> tuple[int, str]:
    said: list[bytes] = []
    engine = connect(os.environ, kept=lambda: room)
    status = engine.follow(replace(request, keep="mine"), Console(output=lambda _, piece: said.append(piece)))
    return status, b"".join(said).decode()


@on_docker
def test_kept_changes_are_files_only_and_go_with_their_name(world: World, tmp_path: Path) -> None:
    made = "echo one > /one; mkdir /deep; echo two > /deep/two; exit 3"
    first = RunRequest(image=world.base, command=("/bin/sh", "-c", made), env=(("TOKEN", "secret"),), writable=True)
    change = replace(first, command=("/bin/sh", "-c", "rm -r /deep; cat /one; echo $TOKEN."), env=())
    look = replace(change, command=("/bin/sh", "-c", "[ -e /deep ]"))
    engine = connect(os.environ)
    try:
        assert _kept(tmp_path, first) == (3, "")
        assert _kept(tmp_path, change) == (0, "one\n.\n")
        (kept,) = kept_in(tmp_path)
        found = engine.image(kept.reference)
        assert found
        layers = len(found.diff_ids)
        assert _kept(tmp_path, look) == (1, "")
        again = engine.image(kept.reference)
        assert again
        assert len(again.diff_ids) == layers, "a run without changes adds a layer"
    finally:
        remove_kept(tmp_path, "mine", lambda kept: engine.forget(container_of(kept), kept.reference))
    assert engine.image(kept.reference) is None
    assert engine.image(world.base) is not None
