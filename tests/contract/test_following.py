"""What every way to follow a command without an engine promises: terminal, streams, signals, changes, devices."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import REQUIRED
from tests.contract.trees import NOBODY, PYTHON, busybox_tree

_PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS = 60.0

# Follows a task of JSON as `run` does: standard input, output and the terminal are those of this program.
FOLLOWS = """
import json, os, sys
from pathlib import Path
from envbuilder.oci.runtime.command import Console, PublishedPort
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.runtime.selection import candidates
given = json.loads(sys.argv[1])
name, account, work = given.pop("name"), given.pop("account"), Path(given.pop("work"))
found = [one for one in candidates(work, given.pop("programs")) if one.name == name]
way = found[-1] if account == "mapped" else found[0]
opened = set() if given.pop("watch", False) else None
pairs = lambda items: tuple(map(tuple, items))
def show(number, piece):
    os.write(number, piece)
task = Task(
    tree=Path(given.pop("tree")),
    command=("/bin/sh", "-c", given.pop("script")),
    env=(("PATH", "/bin"),),
    changes=Path(given.pop("changes")),
    devices=pairs(given.pop("devices")),
    ports=tuple(PublishedPort(**port) for port in given.pop("ports")),
    console=Console(output=show, given=0, terminal=given.pop("terminal", False)),
    timeout=float("inf"),
    opened=opened.add if opened is not None else None,
    **given,
)
status = way.run(task).status
if opened is not None:
    print("opened", *sorted(opened))
sys.exit(status)
"""


class Way:
    """One way to follow commands.

    Args:
        name: Of the sandbox.
        account: `root`, `mapped` (root in a namespace of accounts), `self` or `nobody`.
        place: Directory that everybody may enter.
    """

    def __init__(self, name: str, account: str, place: Path) -> None:
        self.name, self.account, self.place = name, account, place
        self.folder = Path(tempfile.mkdtemp(dir=place))
        self.folder.chmod(0o777)

    @property
    def tree(self) -> Path:
        """The root file system, which belongs to the caller as an unpacked image does."""
        return self.place / ("of-nobody" if self.account == "nobody" else "tree")

    def command(self, script: str, changes: str = "changes", **more: object) -> list[str]:
        place = self.folder / changes
        place.mkdir(exist_ok=True)
        place.chmod(0o777)
        fields: dict[str, object] = {
            "name": self.name,
            "account": self.account,
            "work": str(self.folder / "work"),
            "programs": _PROGRAMS,
            "tree": str(self.tree),
            "script": script,
            "changes": str(place),
            "devices": [],
            "ports": [],
            **more,
        }
        python = sys.executable
        prefix: list[str] = []
        if self.account == "nobody":
            python = PYTHON
            prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return [*prefix, python, "-c", FOLLOWS, json.dumps(fields)]

    @property
    def environ(self) -> dict[str, str]:
        folder = str(Path(__file__).parents[2])
        return {"PATH": os.environ["PATH"], "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}

    def shell(self, script: str, given: bytes = b"", **more: object) -> subprocess.CompletedProcess[bytes]:
        command = self.command(script, **more)  # type: ignore[arg-type]
        return subprocess.run(
            command, input=given, capture_output=True, check=False, env=self.environ, cwd="/", timeout=_SECONDS
        )


def _ways() -> list[str]:
    accounts = ["root", "mapped", "nobody"] if os.geteuid() == 0 else ["self"]
    return [f"{name}-{account}" for name in ("runc", "namespaces") for account in accounts]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="envbuilder-following-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        for name in ("tree", "of-nobody"):
            tree = busybox_tree(Path(folder, name))
            for applet in ("grep", "mv", "rm", "tty", "wc"):
                (tree / "bin" / applet).symlink_to("busybox")
            for path in (tree, *tree.rglob("*")) if name == "of-nobody" and os.geteuid() == 0 else ():
                os.lchown(path, NOBODY, NOBODY)
        yield Path(folder)


@pytest.fixture(params=_ways())
def way(request: pytest.FixtureRequest, place: Path) -> Way:
    name, _, account = request.param.partition("-")
    if name == "runc" and not shutil.which("runc", path=_PROGRAMS):
        (pytest.fail if REQUIRED else pytest.skip)("runc is not installed")
    if account == "nobody" and not PYTHON:
        (pytest.fail if REQUIRED else pytest.skip)("no Python that nobody may start")
    return Way(name, account, place)


namespaces = pytest.mark.parametrize("way", [name for name in _ways() if name.startswith("namespaces")], indirect=True)


def test_standard_input_reaches_the_command_to_its_end(way: Way) -> None:
    done = way.shell("cat; echo; wc -c", b"said")
    assert (done.returncode, done.stdout.split()) == (0, [b"said", b"0"]), done.stderr
    assert way.shell("wc -c", b"x" * 1_000_000).stdout.strip() == b"1000000"


def test_a_command_can_change_everything_and_nothing_of_the_tree_changes(way: Way) -> None:
    tree = way.tree
    before = sorted(str(path) for path in tree.rglob("*"))
    script = (
        "echo new > /etc/data && rm -r /opt/deep && mkdir /opt/deep && echo x > /opt/deep/x && mkdir /top && "
        "echo y > /top/y && mv /etc/passwd /etc/moved && cat /etc/data /opt/deep/* /top/y && ls /etc"
    )
    done = way.shell(script, changes="one")
    assert done.stdout.split() == [b"new", b"x", b"y", b"data", b"moved"], done.stderr
    assert sorted(str(path) for path in tree.rglob("*")) == before
    assert (tree / "etc/data").read_text() == "data\n"


def test_changes_are_there_in_the_next_run_with_the_same_directory(way: Way) -> None:
    way.shell("echo kept > /etc/data; rm /opt/deep/there; mkdir /top; echo top > /top/x", changes="kept")
    assert way.shell("cat /etc/data /top/x; ls /opt/deep", changes="kept").stdout == b"kept\ntop\n"
    assert way.shell("cat /etc/data; ls /opt/deep", changes="other").stdout == b"data\nthere\n"


def test_what_an_earlier_run_made_cannot_lead_a_mount_out_of_the_root(way: Way) -> None:
    """Mount points are created in a root with links of an earlier command, as on this host they would be followed."""
    target = way.folder / "target"
    target.mkdir()
    target.chmod(0o777)
    way.shell(f"busybox ln -s {target} /work", changes="linked")
    shared = [["/usr/share", "/work/mounted"]]
    way.shell("ls /work/mounted", changes="linked", shared=shared, folder="/work/deep")
    assert not list(target.iterdir())


def test_a_command_has_no_more_privileges_than_files_need(way: Way) -> None:
    done = way.shell("grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status")
    masks = {line.split()[0]: int(line.split()[1], 16) for line in done.stdout.decode().splitlines()}
    allowed = 0xFB if way.account == "root" else 0
    assert masks == {"CapEff:": allowed, "CapBnd:": allowed, "NoNewPrivs:": 1}


def test_another_user_than_root_has_no_privileges(way: Way) -> None:
    if way.name == "runc" and way.account != "root":
        pytest.skip("runc without root privileges has one user")
    done = way.shell("grep CapEff /proc/self/status; id -u; touch /etc/new", uid=1000, gid=1000, asked=True)
    assert done.stdout.split() == [b"CapEff:", b"0000000000000000", b"1000"]
    assert (b"Permission denied" in done.stderr) is (way.account == "root")


def test_files_in_a_mount_belong_to_the_caller(way: Way) -> None:
    shared = way.folder / "shared"
    shared.mkdir()
    uid = {"nobody": NOBODY}.get(way.account, os.geteuid())
    os.chown(shared, uid, -1)
    done = way.shell("echo x > /w/made", shared=[[str(shared), "/w"]], uid=uid, gid=uid)
    assert done.returncode == 0, done.stderr
    assert (shared / "made").stat().st_uid == uid


def test_devices_that_were_given_can_be_used(way: Way) -> None:
    """Harmless ones, at the places of others."""
    devices = [["/dev/zero", "/dev/nvidia0"], ["/dev/null", "/dev/nvidia-caps/nvidia-cap1"]]
    script = "busybox head -c 3 /dev/nvidia0 | wc -c; echo x > /dev/nvidia-caps/nvidia-cap1 && echo written"
    done = way.shell(script, devices=devices)
    assert done.stdout.split() == [b"3", b"written"], done.stderr


@namespaces
def test_opened_files_of_the_tree_are_reported_whoever_opens_them(way: Way) -> None:
    shared = way.folder / "seen"
    shared.mkdir()
    (shared / "of-host").write_text("x")
    script = "sh -c 'cat /etc/data & wait' > /dev/null; ls /etc; cat /w/of-host /var/deep/there; echo x > /etc/new"
    done = way.shell(script, watch=True, shared=[[str(shared), "/w"]])
    # Not those that are only listed, nor those of this host; links are followed.
    opened = "opened /bin/busybox /etc/data /etc/new /opt/deep/there"
    assert done.stdout.decode().splitlines()[-1] == opened, done.stderr


@namespaces
def test_a_library_that_is_mapped_and_a_program_that_is_executed_are_reported(way: Way, place: Path) -> None:
    """The program is one of this host with its libraries, so that the loader maps them."""
    tree = way.tree
    listed = subprocess.run(["ldd", "/bin/ls"], capture_output=True, text=True, check=True).stdout.split()
    libraries = {Path(word).resolve(): word for word in listed if word.startswith("/")}
    for source, name in (*libraries.items(), (Path("/bin/ls").resolve(), "/opt/program")):
        target = Path(f"{tree}{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)
    done = way.shell("/opt/program / > /dev/null", watch=True)
    opened = set(done.stdout.decode().split()[1:])
    assert opened >= {"/opt/program", *libraries.values()}, done.stderr


def test_a_sandbox_that_does_not_report_opened_files_refuses(way: Way) -> None:
    if way.name == "runc":
        done = way.shell("true", watch=True)
        assert b"runc does not report which files a command opens" in done.stderr


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@namespaces
def test_a_port_of_a_command_without_network_is_forwarded_and_no_other(way: Way) -> None:
    port = _free()
    ports = [{"address": "127.0.0.1", "host": port, "container": 7007}]
    command = way.command("echo answer | busybox nc -l -p 7007 & busybox nc -l -p 7008 & wait", ports=ports)
    with subprocess.Popen(command, env=way.environ, cwd="/", stdin=subprocess.DEVNULL) as process:
        try:
            assert _answer(port) == b"answer\n"
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", 7008))
        finally:
            process.terminate()


def _answer(port: int) -> bytes:
    """Ask until there is an answer: the server starts later than its port is forwarded."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as stream:
                if said := stream.readline():
                    return said
        except OSError:
            pass
        time.sleep(0.1)
    return b""


def _started(command: list[str], way: Way) -> subprocess.Popen[bytes]:
    # What a script starts in the background ignores SIGINT, and so would the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            command,
            env=way.environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@namespaces
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_a_command_that_does_not_handle_it(way: Way, number: signal.Signals) -> None:
    """As process 1 it would never end: an init passes the signal on."""
    command = way.command("echo begun; exec sleep 600")
    with _started(command, way) as process:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        assert process.wait(_SECONDS) == 128 + number


def test_a_command_handles_the_signal_and_decides_on_the_status(way: Way) -> None:
    command = way.command("trap 'echo saved; exit 5' TERM; echo begun; while :; do sleep 0.1; done")
    with _started(command, way) as process:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
        process.terminate()
        assert process.stdout.read() == b"saved\n"
        assert process.wait(_SECONDS) == 5


def test_a_command_has_a_terminal_of_its_own(way: Way) -> None:
    """Keys, Ctrl-C, the status, and the settings of the outer terminal afterwards."""
    script = (
        "tty; trap 'echo interrupted; exit 4' INT; echo ready; read line; echo got $line; while :; do sleep 0.1; done"
    )
    command = way.command(script, terminal=True)
    pid, window = pty.fork()
    if not pid:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.chdir("/")
        os.execvpe(command[0], command, way.environ)  # noqa: S606  the program of this test
    seen = b""

    def until(word: bytes) -> None:
        nonlocal seen
        while word not in seen:
            assert select.select([window], [], [], _SECONDS)[0], seen
            seen += os.read(window, 4096)

    try:
        until(b"ready")
        assert b"/dev/pts/0" in seen
        os.write(window, b"word\r")
        until(b"got word")
        os.write(window, b"\x03")
        until(b"interrupted")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    finally:
        os.close(window)
