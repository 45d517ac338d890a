"""What every way to run commands without an engine promises: runc and namespaces, as this account and as nobody."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, UsageError
from envbuilder.oci.runtime.command import Console, RunResult
from envbuilder.oci.runtime.sandbox import FOREIGN, Limits, Sandbox, Task
from envbuilder.oci.runtime.selection import candidates, choose
from tests.contract.conftest import REQUIRED
from tests.contract.processes import gone, running
from tests.contract.trees import PYTHON, as_nobody, busybox_tree

_PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to run commands.

    Attributes:
        name: Of the sandbox.
        account: `root`, `mapped` (root that uses a namespace of accounts), `self` or `nobody`.
        run: Runs a task.
        folder: For files of a test, that everybody may read.
        tree: The root file system.
        takes_accounts: Whether it can run a command as any account.
    """

    name: str
    account: str
    run: Callable[[Task], RunResult]
    folder: Path
    tree: Path
    takes_accounts: bool

    def shell(self, script: str, **more: object) -> RunResult:
        fields: dict[str, object] = {"env": (("PATH", "/bin"),), "timeout": 30.0, **more}
        return self.run(Task(tree=self.tree, command=("/bin/sh", "-c", script), **fields))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="envbuilder-running-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def tree(place: Path) -> Path:
    return busybox_tree(place / "tree")


def _ways() -> list[str]:
    accounts = ["root", "mapped", "nobody"] if os.geteuid() == 0 else ["self"]
    return [f"{name}-{account}" for name in ("runc", "namespaces") for account in accounts]


@pytest.fixture(scope="module", params=_ways())
def way(request: pytest.FixtureRequest, place: Path, tree: Path) -> Way:
    name, _, account = request.param.partition("-")
    if name == "runc" and not shutil.which("runc", path=_PROGRAMS):
        (pytest.fail if REQUIRED else pytest.skip)("runc is not installed")
    folder = place / request.param
    folder.mkdir()
    folder.chmod(0o777)
    run: Callable[[Task], RunResult]
    if account == "nobody":
        if not PYTHON:
            (pytest.fail if REQUIRED else pytest.skip)("no Python that nobody may start")

        def run(task: Task) -> RunResult:
            return as_nobody(task, name, folder / "work")
    else:
        run = _here(name, account, folder / "work").run
    takes = account == "root" or name == "namespaces"
    return Way(name=name, account=account, run=run, folder=folder, tree=tree, takes_accounts=takes)


def _here(name: str, account: str, work: Path) -> Sandbox:
    found = [one for one in candidates(work, _PROGRAMS) if one.name == name]
    return found[-1] if account == "mapped" else found[0]


def test_a_command_keeps_status_and_both_streams_apart(way: Way) -> None:
    result = way.shell("echo out; echo err >&2; exit 3")
    assert (result.status, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out
    assert result.copied is None


def test_a_command_has_only_the_environment_that_it_is_given(way: Way) -> None:
    result = way.run(Task(tree=way.tree, command=("busybox", "env"), env=(("A", "x y"), ("PATH", "/bin"))))
    lines = [line for line in result.stdout.decode().splitlines() if not line.startswith("HOME=")]
    assert sorted(lines) == ["A=x y", "PATH=/bin"]


def test_a_command_cannot_change_the_tree(way: Way) -> None:
    before = sorted(str(path) for path in way.tree.rglob("*"))
    script = "touch /new /etc/new /opt/deep/new; echo changed > /etc/data; chmod 777 /etc/data; mkdir /a; true"
    result = way.shell(script)
    assert result.stderr.count(b"Read-only file system") == 6
    assert sorted(str(path) for path in way.tree.rglob("*")) == before
    assert (way.tree / "etc/data").read_text() == "data\n"


def test_a_command_can_write_to_its_own_places(way: Way) -> None:
    result = way.shell("for at in /tmp /run /dev/shm; do echo $at > $at/x && cat $at/x; done; ls /tmp")
    assert result.stdout == b"/tmp\n/run\n/dev/shm\nx\n"
    assert way.shell("ls /tmp /dev/shm").stdout == b"/dev/shm:\n\n/tmp:\n"


def test_a_command_sees_its_files_and_gives_one_back(way: Way) -> None:
    """Also where the tree has no such folder, where it has the file, and through a link of the tree."""
    files = (
        ("/tmp/one", b"1\n"),
        ("/opt/deep/down/two", b"2\n"),
        ("/nowhere/three", b"3\n"),
        ("/etc/data", b"4\n"),
        ("/var/deep/five", b"5\n"),
    )
    script = (
        "cat /tmp/one /opt/deep/down/two /nowhere/three /etc/data /opt/deep/five /opt/deep/there; echo made > /tmp/out"
    )
    result = way.shell(script, files=files, copy_out="/tmp/out")
    assert result.stdout == b"1\n2\n3\n4\n5\nthere\n", result.stderr
    assert result.copied == b"made\n"
    assert not (way.tree / "nowhere").exists()
    assert not (way.tree / "opt/deep/down").exists()


@pytest.mark.parametrize("path", ["/tmp/absent", "/tmp/link", "/tmp/folder", "/etc/absent"])
def test_only_a_file_is_given_back(way: Way, path: str) -> None:
    result = way.shell("busybox ln -s /etc/passwd /tmp/link; mkdir /tmp/folder", copy_out=path)
    assert result.status == 0
    assert result.copied is None


def test_a_file_of_the_tree_is_given_back(way: Way) -> None:
    assert way.shell("true", copy_out="/etc/data").copied == b"data\n"


def test_a_command_sees_what_is_mounted_and_cannot_change_it(way: Way) -> None:
    source = way.folder / "given"
    source.mkdir(exist_ok=True)
    (source / "in.txt").write_text("from the host\n")
    result = way.shell("cat /mnt/given/in.txt; echo changed > /mnt/given/in.txt", mounts=((str(source), "/mnt/given"),))
    assert result.stdout == b"from the host\n"
    assert result.status != 0
    assert (source / "in.txt").read_text() == "from the host\n"


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_started(way: Way) -> None:
    word = f"w{time.monotonic_ns()}"
    script = f"echo begun; (echo {word}; sleep 600) & (trap '' TERM; sleep 601; echo {word}) & sleep 602; echo {word}"
    # On a busy machine a command may need longer than this to begin.
    begun = b""
    for timeout in (1.5, 15, 150):
        result = way.shell(script, timeout=timeout)
        begun = result.stdout
        assert result.timed_out
        assert result.status == 137
        assert gone(word)
        if begun:
            break
    assert begun.startswith(b"begun\n")


def test_what_a_command_leaves_running_ends_with_it(way: Way) -> None:
    word = f"w{time.monotonic_ns()}"
    result = way.shell(f"sh -c 'sleep 600; echo {word}' & echo started")
    assert result.stdout == b"started\n"
    assert not running(word) or gone(word)


def test_a_command_that_a_signal_ends_has_its_number(way: Way) -> None:
    assert way.shell("sh -c 'kill -TERM $$'; exit $?").status == 143


def test_a_program_that_the_image_lacks_is_status_127(way: Way) -> None:
    for program in ("no-such-program", "/no/such/program"):
        result = way.run(Task(tree=way.tree, command=(program, "-V"), env=(("PATH", "/bin"),)))
        assert result.status == 127
        assert b"not found" in result.stderr or b"no such file" in result.stderr


def test_a_program_that_is_none_is_status_126(way: Way) -> None:
    for path in ("/etc", "/etc/data"):
        result = way.run(Task(tree=way.tree, command=(path,), files=(("/etc/data", b"\x7fELF?"),)))
        assert result.status == 126, (path, result)


def test_a_command_reaches_no_network(way: Way) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"busybox nc -w 2 127.0.0.1 {port} < /dev/null"
        assert way.shell(script).status != 0
        interfaces = way.shell("cat /proc/net/dev").stdout.decode().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    assert way.shell("busybox nc -l -p 7 -e echo hello & sleep 0.2; busybox nc -w 2 127.0.0.1 7").status in {0, 1}


def test_a_command_can_use_the_network_of_the_host_when_asked(way: Way) -> None:
    heard: list[bytes] = []

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            heard.append(connection.recv(100))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        result = way.shell(f"echo hello | busybox nc -w 2 127.0.0.1 {port}", host_network=True)
        assert result.status == 0, result.stderr
        thread.join(5)
    assert heard == [b"hello\n"]


def test_a_command_has_no_privileges_and_no_way_to_them(way: Way) -> None:
    status = way.shell("cat /proc/self/status").stdout.decode()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"].strip() == "1"
    assert way.shell("busybox mount -t tmpfs none /tmp").status != 0
    assert way.shell("echo 1 > /proc/sys/kernel/sysrq").status != 0
    assert way.shell("cat /proc/kcore").stdout == b""


def test_a_command_sees_only_its_own_processes_and_devices(way: Way) -> None:
    seen = way.shell("echo /proc/[0-9]*; echo /dev/*; hostname").stdout.decode().splitlines()
    assert len(seen[0].split()) <= 2
    links = {"core", "fd", "stderr", "stdin", "stdout"}
    devices = {"console", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"}
    assert {path.removeprefix("/dev/") for path in seen[1].split()} <= links | devices
    assert seen[2] == "envbuilder"
    assert way.shell("echo x > /dev/null && busybox head -c 4 /dev/urandom | busybox wc -c").stdout.strip() == b"4"


def test_a_command_runs_as_the_account_that_is_asked_for(way: Way) -> None:
    result_of_root = way.shell("id -u; id -g")
    assert result_of_root.stdout == b"0\n0\n"
    if way.takes_accounts:
        script = "id -u; id -g; touch /tmp/mine /run/mine /dev/shm/mine"
        result = way.shell(script, uid=1000, gid=1000, asked=True)
        assert result.stdout.startswith(b"1000\n1000\n"), result.stderr
        assert result.status == 0


def test_a_command_starts_in_its_folder_also_in_one_that_is_missing(way: Way) -> None:
    assert way.shell("busybox pwd", folder="/opt/deep").stdout == b"/opt/deep\n"
    assert way.shell("busybox pwd", folder="/home/missing").stdout == b"/home/missing\n"
    assert way.shell("busybox pwd", folder="/tmp").stdout == b"/tmp\n"


def test_limits_are_those_of_the_caller(way: Way) -> None:
    import resource  # noqa: PLC0415

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = way.shell("ulimit -Hn").stdout.decode().strip()
    assert told == ("unlimited" if hard == resource.RLIM_INFINITY else str(hard))


def test_nothing_is_left_of_a_run(way: Way) -> None:
    way.shell("mkdir -p /tmp/a/b; touch /tmp/a/b/c; chmod 0 /tmp/a/b /tmp/a", copy_out="/tmp/none")
    assert list((way.folder / "work").iterdir()) == []


def test_the_best_way_is_chosen(place: Path) -> None:
    chosen = choose(place / "choosing", _PROGRAMS)
    assert chosen.name == ("runc" if shutil.which("runc", path=_PROGRAMS) else "namespaces")
    assert choose(place / "choosing", "/nowhere").name == "namespaces"


def test_a_followed_command_hands_on_what_it_writes_as_it_comes(way: Way) -> None:
    if way.account == "nobody":
        # That one runs in a process of its own, which hands back a result and no pieces.
        assert way.shell("echo out", timeout=float("inf")).stdout == b"out\n"
        return
    source = way.folder / "followed"
    source.mkdir(exist_ok=True)
    seen: list[tuple[int, bytes]] = []

    def hear(number: int, piece: bytes) -> None:
        seen.append((number, piece))
        if number == 1:
            (source / "heard").touch()

    result = way.shell(
        # What is written is handed on before the command ends: it waits for that.
        "echo out; echo err >&2; until test -e heard; do busybox sleep 0.1; done; echo later",
        timeout=float("inf"),
        console=Console(output=hear),
        shared=((str(source), "/work/followed"),),
        folder="/work/followed",
    )
    assert (result.status, result.stdout, result.stderr) == (0, b"", b"")
    assert sorted(seen) == [(1, b"later\n"), (1, b"out\n"), (2, b"err\n")]


def test_a_command_can_change_what_is_shared_with_it(way: Way) -> None:
    source = way.folder / "shared"
    source.mkdir(exist_ok=True)
    source.chmod(0o777)
    result = way.shell(
        "pwd; echo made > made; cat made", shared=((str(source), "/work/shared"),), folder="/work/shared"
    )
    assert result.stdout == b"/work/shared\nmade\n", result.stderr
    assert (source / "made").read_text() == "made\n"
    (source / "made").unlink()


def test_control_groups_of_the_host_cannot_be_changed(way: Way) -> None:
    """Also with the network of the host, whose /sys has other file systems mounted below it."""
    for shared in (False, True):
        script = "echo /sys/fs/cgroup/*; for at in $(busybox find /sys -type f -name '*.procs'); do echo 0 > $at; done"
        result = way.shell(script, host_network=shared)
        assert result.stdout == b"/sys/fs/cgroup/*\n", result.stdout
        mounts = way.shell("cat /proc/self/mounts", host_network=shared).stdout.decode().splitlines()
        below = [line.split() for line in mounts if line.split()[1].startswith("/sys")]
        assert below
        assert [fields for fields in below if "rw" in fields[3].split(",")] == []


def test_what_is_mounted_below_a_read_only_mount_is_read_only_too(way: Way) -> None:
    source = way.folder / "outer"
    (source / "inner").mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", str(source / "inner")], check=True)
    try:
        result = way.shell("echo changed > /mnt/outer/inner/file", mounts=((str(source), "/mnt/outer"),))
        written = (source / "inner/file").exists()
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(source / "inner")], check=True)
    assert not written
    assert result.status != 0


@pytest.mark.parametrize("word", ["mount", "namespace"])
def test_system_calls_that_manage_the_kernel_are_refused(way: Way, word: str) -> None:
    status = dict(line.split(":", 1) for line in way.shell("cat /proc/self/status").stdout.decode().splitlines())
    assert status["Seccomp"].strip() == "2"
    command = {
        "mount": "busybox mount -t tmpfs none /tmp",
        "namespace": "busybox unshare -U true",
    }[word]
    assert way.shell(command).status != 0


def test_a_command_that_writes_without_end_is_stopped(way: Way) -> None:
    limits = Limits(output=1 << 20)
    failure = (ToolFailed, subprocess.CalledProcessError)
    with pytest.raises(failure):
        way.shell("busybox yes", limits=limits)
    with pytest.raises(failure):
        way.shell("busybox yes >&2", limits=limits)
    result = way.shell("busybox head -c 1000000 /dev/zero", limits=limits)
    assert len(result.stdout) == 1_000_000


def test_a_file_that_grows_without_end_is_stopped(way: Way) -> None:
    result = way.shell("busybox yes > /tmp/big; busybox stat -c %s /tmp/big", limits=Limits(file=1 << 20))
    assert int(result.stdout) <= 1 << 20


def test_memory_is_limited(way: Way) -> None:
    script = "busybox head -c 200000000 /dev/zero | busybox tr '\\0' x | busybox tail -n 1 | busybox wc -c"
    assert way.shell(script, limits=Limits(memory=100 << 20)).stdout.strip() != b"200000000"


def test_time_of_the_processor_is_limited(way: Way) -> None:
    result = way.shell("while :; do :; done", limits=Limits(seconds=1), timeout=120.0)
    assert not result.timed_out
    assert result.status in {128 + 9, 128 + 24}


def test_processes_are_limited(way: Way) -> None:
    script = "n=0; while [ $n -lt 60 ]; do sleep 30 & n=$((n+1)); done; echo all"
    result = way.shell(script, uid=FOREIGN, gid=FOREIGN, limits=Limits(processes=20))
    # The kernel counts no processes of root, and only runc as root makes control groups (docs/images.md).
    uncounted = way.account == "mapped"
    assert (b"all" in result.stdout) is uncounted
    assert (b"fork" in result.stderr) is not uncounted


def test_foreign_code_is_nobody_on_this_host(way: Way) -> None:
    """Its account is one that owns nothing, or, without root rights, that of the caller in a namespace."""
    script = "cat /proc/self/uid_map; exec 3< /proc/self/status; busybox grep Uid /proc/self/status"
    told = way.shell(script, uid=FOREIGN, gid=FOREIGN).stdout.decode().split("\n")
    mapped = [line.split() for line in told if line and not line.startswith("Uid")]
    uid = told[-2].split()[1]
    outside = {inside: host for inside, host, _ in mapped}[uid]
    expected = {"root": FOREIGN, "mapped": os.geteuid(), "nobody": 65534, "self": os.geteuid()}[way.account]
    assert int(outside) == expected


@pytest.mark.parametrize("number", [2**32 - 1, 2**31, 2**40])
def test_an_account_that_is_none_never_stays_root(way: Way, number: int) -> None:
    """The kernel takes the last one as "leave it as it is"."""
    try:
        result = way.shell("id -u; echo /work/*", uid=number, gid=0, asked=False)
    except (ToolFailed, UsageError, subprocess.CalledProcessError):
        return
    assert way.account != "root" or not result.stdout.startswith(b"0\n")


def test_streams_can_be_files(way: Way) -> None:
    if way.account == "nobody":
        return  # that one runs in a process of its own
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        given.write(b"given\n")
        given.seek(0)
        result = way.shell("cat; echo err >&2", given=given, answer=answer)
        answer.seek(0)
        assert answer.read() == b"given\n"
    assert (result.stdout, result.stderr) == (b"", b"err\n")
