"""Commands in images by Apptainer and podman, whose places are taken by programs that refuse unknown options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EngineError, ToolFailed, ToolMissing, UsageError
from envbuilder.image.running.apptainer import PROGRAMS, ApptainerRunner
from envbuilder.image.running.changes import kept_in, remove_kept
from envbuilder.image.running.kept_images import container_of
from envbuilder.image.running.node_runtimes import Program, find_program, source_of
from envbuilder.image.running.podman import PodmanRunner
from envbuilder.oci.runtime.command import Caller, Console, PublishedPort, RunRequest
from tests.fakes.node_runtimes import apptainer_of_host, podman_of_host

Runner = ApptainerRunner | PodmanRunner
SHOWS = "import os, sys; print(os.environ.get('WORD')); print(open(sys.argv[1]).read()); print('e', file=sys.stderr)"


class Node:
    """A host with both programs, and the directories that say whether it has GPUs."""

    def __init__(self, folder: Path) -> None:
        self.root, self.programs, self.work = folder / "root", folder / "programs", folder / "work"
        self.kept = folder / "kept"
        self.layout, self.sif = folder / "layout", folder / "x.sif"
        self.layout.mkdir()
        (self.layout / "oci-layout").touch()
        self.sif.touch()

    def apptainer(self) -> ApptainerRunner:
        apptainer_of_host(self.programs)
        return ApptainerRunner(program=find_program(PROGRAMS, self.environ), work=self.work, root=self.root)

    def podman(self) -> PodmanRunner:
        podman_of_host(self.programs)
        program = find_program(("podman",), self.environ)
        return PodmanRunner(program=program, work=self.work, kept=lambda: self.kept, root=self.root)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": f"{self.programs}:{os.environ['PATH']}"}

    def last(self) -> list[str]:
        found: list[str] = json.loads((self.programs / "calls").read_text().splitlines()[-1])
        return found

    def has(self, path: str, content: str = "") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True)
        file.write_text(content)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


both = pytest.mark.parametrize("make", [Node.apptainer, Node.podman], ids=["apptainer", "podman"])
Make = Callable[[Node], Runner]


@both
def test_files_and_variables_reach_the_command(node: Node, make: Make) -> None:
    request = RunRequest(
        image=str(node.layout),
        command=(sys.executable, "-c", SHOWS, "/tmp/in-the-container"),
        files=(("/tmp/in-the-container", b"said"),),
        env=(("WORD", "a, b=c"),),
    )
    done = make(node).run(request)
    assert (done.status, done.stdout, done.stderr) == (0, b"a, b=c\nsaid\n", b"e\n")
    assert "none" in node.last()
    assert not list(node.work.iterdir())


@both
def test_the_output_is_passed_on_and_the_status_is_that_of_the_command(node: Node, make: Make) -> None:
    said: list[tuple[int, bytes]] = []
    command = (sys.executable, "-c", "import sys; print('a'); sys.exit(3)")
    status = make(node).follow(
        RunRequest(image=str(node.layout), command=command, network="default"),
        Console(output=lambda *x: said.append(x)),
    )
    assert (status, said) == (3, [(1, b"a\n")])
    assert "none" not in node.last()


@both
def test_directories_are_mounted(node: Node, make: Make, tmp_path: Path) -> None:
    request = RunRequest(
        image=str(node.layout),
        command=("/bin/true",),
        mounts=(("/usr", "/u"),),
        shared=((str(tmp_path), "/w"),),
        folder="/w",
    )
    assert make(node).run(request).status == 0
    assert {"/usr:/u:ro", f"{tmp_path}:/w", "/w"} <= set(node.last())


@both
def test_what_takes_too_long_is_killed(node: Node, make: Make) -> None:
    done = make(node).run(RunRequest(image=str(node.layout), command=("/bin/sleep", "60"), timeout=0.5))
    assert done.timed_out


@both
def test_labels_of_an_image_are_read(node: Node, make: Make) -> None:
    found = make(node).image(str(node.layout))
    assert found is not None
    assert found.label("io.envbuilder.memory") == "growth"


@both
def test_a_name_without_a_registry_is_no_image(node: Node, make: Make) -> None:
    assert make(node).image("envbuilder/other:latest") is None


@both
def test_gpus_that_the_host_does_not_have_are_refused(node: Node, make: Make) -> None:
    runner = make(node)
    assert not runner.info().gpus
    with pytest.raises(UsageError, match="no GPUs for"):
        runner.run(RunRequest(image=str(node.layout), command=("true",), gpus=True))


def test_apptainer_gives_the_gpus_where_the_driver_is_loaded(node: Node) -> None:
    node.has("proc/driver/nvidia/version")
    runner = node.apptainer()
    assert runner.info().gpus
    assert runner.run(RunRequest(image=str(node.sif), command=("/bin/true",), gpus=True)).status == 0
    assert "--nv" in node.last()


@pytest.mark.parametrize(
    ("devices", "given"), [((), "nvidia.com/gpu=all"), (("nvidia.com/gpu=1",), "nvidia.com/gpu=1")]
)
def test_podman_gives_the_gpus_of_a_specification(node: Node, devices: tuple[str, ...], given: str) -> None:
    node.has("etc/cdi/nvidia.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n")
    runner = node.podman()
    assert runner.info().gpus
    request = RunRequest(image=str(node.layout), command=("/bin/true",), gpus=not devices, devices=devices)
    assert runner.run(request).status == 0
    assert node.last()[node.last().index("--device") + 1] == given


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (RunRequest(image="x.sif", command=("true",), user="root"), "as yourself"),
        (RunRequest(image="x.sif", command=("true",), devices=("nvidia.com/gpu=0",)), "CDI"),
        (RunRequest(image="x.sif", command=("true",), shared=(("/a,b", "/w"),)), "comma"),
    ],
    ids=["user", "device", "comma"],
)
def test_what_apptainer_cannot_do_is_refused(node: Node, request_: RunRequest, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        node.apptainer().run(request_)


def test_podman_sets_the_user_that_is_asked_for(node: Node) -> None:
    request = RunRequest(image=str(node.layout), command=("/bin/true",), user="7:7", shared=((str(node.work), "/w"),))
    assert node.podman().run(request).status == 0
    assert "--user 7:7" in " ".join(node.last())
    assert "keep-id" not in node.last()


@pytest.mark.parametrize(("command", "status"), [("missing", 127), ("/no/such", 127)])
def test_a_command_that_is_missing_has_the_status_of_a_shell(node: Node, command: str, status: int) -> None:
    done = node.apptainer().run(RunRequest(image=str(node.sif), command=(command,)))
    assert done.status == status


def test_a_command_may_end_with_the_status_of_apptainer_itself(node: Node) -> None:
    request = RunRequest(image=str(node.sif), command=(sys.executable, "-c", "import sys; sys.exit(255)"))
    assert node.apptainer().run(request).status == 255


def test_an_image_that_cannot_be_started_is_an_error(node: Node) -> None:
    with pytest.raises(EngineError, match="could not open image"):
        node.apptainer().run(RunRequest(image="registry.example/team/tf:1", command=("true",)))
    with pytest.raises(EngineError, match="pinging container registry"):
        node.podman().image("registry.example/team/tf:1")
    with pytest.raises(EngineError, match="setrlimit"):
        node.podman().run(RunRequest(image=str(node.layout), command=("refused",)))
    with pytest.raises(EngineError, match="has no image"):
        node.podman().run(RunRequest(image="envbuilder/other:latest", command=("true",)))
    with pytest.raises(UsageError, match="does not run"):
        node.podman().image(str(node.sif))


def test_a_registry_on_this_machine_may_have_no_tls(node: Node) -> None:
    request = RunRequest(image="localhost:5000/tf:1", command=("/usr/bin/env",))
    assert node.apptainer().run(request).status == 0
    with pytest.raises(EngineError, match="could not open image"):
        node.apptainer().run(RunRequest(image="registry.example/tf:1", command=("/usr/bin/env",)))


def test_podman_has_images_of_its_own(node: Node) -> None:
    found = node.podman().image("envbuilder/tf-2.15-cpu:latest")
    assert found is not None
    assert (found.id, found.tags) == ("sha256:feed", ("a", "b"))


def test_singularity_does_as_well_and_a_missing_program_is_named(node: Node) -> None:
    apptainer_of_host(node.programs, name="singularity")
    # Not those of this host, which may have Apptainer.
    assert find_program(PROGRAMS, {"PATH": str(node.programs)}).path == str(node.programs / "singularity")
    with pytest.raises(ToolMissing, match="apptainer or singularity"):
        find_program(PROGRAMS, {"PATH": str(node.root)})


def test_a_program_that_cannot_be_started_is_told(node: Node) -> None:
    with pytest.raises(ToolFailed, match="cannot be started"):
        Program(path=str(node.layout), environ={}).call((), timeout=1)


def test_sources_are_named_by_what_lies_there(node: Node, tmp_path: Path) -> None:
    archive = tmp_path / "x.tar"
    archive.touch()
    assert source_of(str(node.layout)) == f"oci:{node.layout}"
    assert source_of(str(archive)) == f"oci-archive:{archive}"
    assert source_of(str(node.sif)) == str(node.sif)
    assert source_of("tf:1") == "tf:1"


@both
def test_standard_input_and_status_are_those_of_the_command(node: Node, make: Make, tmp_path: Path) -> None:
    said: list[tuple[int, bytes]] = []
    (tmp_path / "given").write_bytes(b"typed")
    request = RunRequest(image=str(node.layout), command=(sys.executable, "-c", "import sys; sys.exit(len(input()))"))
    with (tmp_path / "given").open("rb") as given:
        console = Console(output=lambda *x: said.append(x), given=given.fileno())
        assert make(node).follow(request, console) == 5
    assert ("--interactive" in node.last()) is (make is Node.podman)
    assert "--tty" not in node.last()


@both
def test_a_terminal_is_handed_over(node: Node, make: Make) -> None:
    """The program has the standard streams of this process; here none of them is a terminal."""
    request = RunRequest(image=str(node.layout), command=("/bin/sh", "-c", "exit 4"))
    assert make(node).follow(request, Console(output=print, given=0, terminal=True)) == 4
    assert ("--tty" in node.last()) is (make is Node.podman)


def test_apptainer_keeps_no_changes(node: Node) -> None:
    request = RunRequest(image=str(node.layout), command=("/bin/true",), writable=True, keep="mine")
    with pytest.raises(UsageError, match="cannot keep changes of an image"):
        node.apptainer().follow(request, Console(output=print))
    assert not node.kept.exists()


def test_podman_keeps_changes_in_an_image_and_the_home_of_the_caller_in_the_cache(node: Node) -> None:
    caller = Caller(uid=1234, gid=5, name="ada")
    request = RunRequest(image=str(node.layout), command=("/bin/sh", "-c", "exit 3"), keep="mine", caller=caller)
    podman = node.podman()
    given = replace(request, env=(("TOKEN", "x"),))
    assert podman.follow(given, Console(output=print)) == 3
    (kept,) = kept_in(node.kept)
    assert (kept.engine, kept.image, kept.bytes) == ("podman", str(node.layout), 5)
    calls = [json.loads(line) for line in (node.programs / "calls").read_text().splitlines()]
    (commit,) = [call for call in calls if call[0] == "commit"]
    assert commit == ["commit", "--quiet", "--change", "ENV TOKEN=", container_of(kept), kept.reference]
    (first,) = [call for call in calls if call[0] == "run"]
    assert "feed" in first
    assert "--rm" not in first
    assert f"{node.kept}/mine/home:/home/ada" in first

    assert node.podman().follow(request, Console(output=print)) == 3
    again = [json.loads(line) for line in (node.programs / "calls").read_text().splitlines()]
    second = [call for call in again if call[0] == "run"][-1]
    assert kept.reference in second
    assert [second[at + 1] for at, word in enumerate(second) if word == "--unsetenv"] == ["TOKEN"]

    remove_kept(node.kept, "mine", lambda found: podman.forget(container_of(found), found.reference))
    assert node.last() == ["image", "rm", kept.reference]
    assert not kept_in(node.kept)


def test_podman_publishes_ports_and_runs_as_the_caller_with_a_home(node: Node) -> None:
    ports = (PublishedPort(address="::1", host=8888, container=80),)
    caller = Caller(uid=1234, gid=5, name="ada")
    request = RunRequest(image=str(node.layout), command=("/bin/true",), ports=ports, caller=caller, network="default")
    node.podman().follow(request, Console(output=print))
    words = node.last()
    assert words[words.index("--publish") + 1] == "[::1]:8888:80"
    assert words[words.index("--userns") + 1] == "keep-id"
    assert words[words.index("--user") + 1] == "1234:5"
    assert "HOME=/home/ada" in words
    assert words[words.index("--volume") + 1].endswith("/home:/home/ada")


def test_podman_publishes_nothing_without_network(node: Node) -> None:
    ports = (PublishedPort(address="127.0.0.1", host=8888, container=80),)
    request = RunRequest(image=str(node.layout), command=("/bin/true",), ports=ports, network="none")
    with pytest.raises(UsageError, match="podman cannot publish ports of a command without network"):
        node.podman().follow(request, Console(output=print))


def test_podman_of_root_keeps_the_home_of_the_image(node: Node) -> None:
    request = RunRequest(image=str(node.layout), command=("/bin/true",), caller=Caller(uid=0, gid=0, name="root"))
    node.podman().follow(request, Console(output=print))
    assert "--userns" not in node.last()
    assert not any(word.startswith("HOME=") for word in node.last())


def test_apptainer_shares_the_network_and_publishes_nothing_without_it(node: Node) -> None:
    ports = (PublishedPort(address="127.0.0.1", host=8888, container=80),)
    request = RunRequest(image=str(node.layout), command=("/bin/true",), ports=ports)
    with pytest.raises(UsageError, match="cannot publish ports of a command without network"):
        node.apptainer().follow(request, Console(output=print))
    same = (PublishedPort(address="0.0.0.0", host=80, container=80),)  # noqa: S104
    with pytest.raises(UsageError, match="the same port is its own"):
        node.apptainer().follow(replace(request, network="default", ports=same), Console(output=print))
