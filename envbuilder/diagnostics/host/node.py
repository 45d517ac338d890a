"""Findings about a machine as a node of a cluster: directories, user namespaces, network, clock, scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.core.units import size
from envbuilder.diagnostics.facts.facts import Seen, Unseen, known
from envbuilder.diagnostics.facts.node import Directory, UserNamespaces
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, note, problem, warning
from envbuilder.diagnostics.host.machine import LITTLE_DISK, temporary_disk
from envbuilder.diagnostics.host.machine_view import MachineView

_HOME, _TEMPORARY, _ROOT = "home", "temporary", "root"
_DENIED = frozenset({"EACCES", "EPERM"})
_LOCAL_LOCKS = frozenset({"nolock", "local_lock=all", "local_lock=flock"})
"""Options with which locks hold on one node only. Source: nfs(5), `lock / nolock` and `local_lock`."""
_LOCAL_CACHE = Remedy(
    text="put the cache on a local disk of the node", command="export ENVBUILDER_CACHE=/path/on/local/disk"
)
_LOCAL_HOME = Remedy(text="let programs write elsewhere", command="export HOME=$(mktemp -d)")
_BY_USER = Remedy(
    text="start containers as the user who owns the files", command='docker run --user "$(id -u):$(id -g)" …'
)


def file_system_silent(view: MachineView) -> Iterator[Finding]:
    """Report a directory whose file system does not answer."""
    for each in known(view.facts.directories) or ():
        if isinstance(each.state, Unseen) and each.state.kind == "Timeout":
            yield problem(
                "file-system-silent",
                f"the {_named(each.role)} does not respond: {each.state.headline}",
                "every program that opens a file there waits for ever, and cannot be killed",
                Remedy(text="show the mounts and their servers; the server or the network to it may be down",
                       command="findmnt -t nfs,nfs4,lustre,beegfs,cephfs"),
            )  # fmt: skip


def temporary_not_writable(view: MachineView) -> Iterator[Finding]:
    """Report a directory of temporary files in which no file can be created."""
    seen = _directory(view, _TEMPORARY)
    if seen and not seen.writable:
        yield problem(
            "temporary-not-writable",
            f"no file can be created in {seen.path}: {seen.error}{_read_only_image(view)}",
            "Python, XLA and Keras put temporary files there and fail, often in the middle of a run",
            Remedy(
                text="give the container a file system in memory for it",
                command="docker run --read-only --tmpfs /tmp …\napptainer exec --writable-tmpfs …",
            ),
            Remedy(text="or name a directory that can be written", command="export TMPDIR=/path/that/is/writable"),
        )


def read_only_image(view: MachineView) -> Iterator[Finding]:
    """Report a root file system that is mounted read-only while temporary files have a place."""
    root, temporary = _directory(view, _ROOT), _directory(view, _TEMPORARY)
    if root and not root.writable and not (temporary and not temporary.writable):
        yield note(
            "read-only-root",
            "the root file system is mounted read-only",
            "nothing can be installed at run time, and programs that write beside their own files fail; images of"
            " envbuilder hold their bytecode and write nothing to it",
        )


def home_not_writable(view: MachineView) -> Iterator[Finding]:
    """Report a HOME in which no file can be created."""
    seen = _directory(view, _HOME)
    if seen and not seen.writable and not _is_squashed(view, seen):
        yield warning(
            "home-not-writable",
            f"no file can be created in HOME ({_place(seen)}): {seen.error}",
            "the driver cannot keep compiled kernels in ~/.nv, so that environments that need JIT compile at every"
            " start, for minutes; Keras cannot keep data sets in ~/.keras",
            Remedy(text="keep compiled kernels elsewhere", command="export CUDA_CACHE_PATH=/tmp/nv-$(id -u)"),
            _LOCAL_HOME,
        )


def root_squash(view: MachineView) -> Iterator[Finding]:
    """Report a file server that does not accept root as root."""
    seen = _directory(view, _HOME)
    if seen and _is_squashed(view, seen):
        done = f"a file of root belongs to user {seen.owner}" if seen.writable else f"root is refused: {seen.error}"
        yield warning(
            "root-squash",
            f"the file server of {_place(seen)} treats root as another user (root_squash): {done}",
            "an engine that runs as root (Docker, podman with sudo) cannot read private files there, nor write for you",
            _BY_USER,
            Remedy(text="or use a program that runs as you: rootless podman, Apptainer, enroot"),
        )


def home_without_locks(view: MachineView) -> Iterator[Finding]:
    """Report a HOME in which files cannot be locked, or are locked for one node only."""
    seen = _directory(view, _HOME)
    if seen is None:
        return
    local = sorted(_LOCAL_LOCKS.intersection(seen.options))
    if seen.locks is False:
        yield warning(
            "home-without-locks",
            f"files in HOME ({_place(seen)}) cannot be locked with flock: {seen.lock_error}",
            "envbuilder refuses a cache there (exit status 6), and caches of other tools are damaged by two jobs that"
            " start at once",
            _LOCAL_CACHE,
            Remedy(text="NFS version 3 needs rpc.statd on this node; version 4 has locks of its own",
                   command="findmnt -T ~ -o FSTYPE,OPTIONS"),
        )  # fmt: skip
    elif seen.locks and local and seen.type.startswith("nfs"):
        yield warning(
            "locks-of-one-node",
            f"locks of files in HOME ({_place(seen)}) hold on this node only: mount option {', '.join(local)}",
            "two nodes that write to one cache there at the same time damage it",
            _LOCAL_CACHE,
        )


def no_user_namespaces(view: MachineView) -> Iterator[Finding]:
    """Report that containers without root privileges cannot start; a container is not a place to start them."""
    seen = known(view.facts.namespaces)
    if seen and not seen.works and not view.container:
        yield warning(
            "no-user-namespaces",
            f"this user cannot use user namespaces: {seen.error}{_cause(seen)}",
            "rootless podman, enroot, Charliecloud, and Apptainer without its setuid program do not start here, nor"
            " does envbuilder's own sandbox",
            *_permissions(seen),
            Remedy(text="or install Apptainer with its setuid program (package apptainer-suid)"),
        )


def _cause(seen: UserNamespaces) -> str:
    if seen.limit == 0:
        return " (user.max_user_namespaces is 0)"
    if seen.unprivileged == 0:
        return " (kernel.unprivileged_userns_clone is 0)"
    return " (AppArmor restricts them)" if seen.apparmor == 1 else ""


def _permissions(seen: UserNamespaces) -> Iterator[Remedy]:
    """Yield the commands of an administrator that lift what forbids user namespaces."""
    commands = (
        (seen.limit == 0, "sudo sysctl user.max_user_namespaces=15000"),
        (seen.unprivileged == 0, "sudo sysctl kernel.unprivileged_userns_clone=1"),
        (seen.apparmor == 1, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    )
    wanted = [command for applies, command in commands if applies]
    if wanted:
        yield Remedy(text="allow them on this node", command="\n".join(wanted))


def no_route_out(view: MachineView) -> Iterator[Finding]:
    """Report a machine without a way out of its networks; a container often has none on purpose."""
    seen = known(view.facts.network)
    if seen and seen.route is False and not seen.proxy:
        yield finding(
            "no-route-out",
            Severity.NOTE if view.container else Severity.WARNING,
            "there is no default route and no proxy: nothing outside of the networks of this machine can be reached",
            "jobs that pull an image from outside, install packages or download data sets (keras.datasets) fail, often"
            " after a long timeout",
            Remedy(text="bring the image as a file", command="envbuilder build ENV -o image.sqsh"),
            Remedy(
                text="or push it to a registry in this network",
                command="envbuilder build ENV --tag HOST/NAME:TAG --push",
            ),
            Remedy(text="and bring data and models before the job starts"),
        )


def little_temporary(view: MachineView) -> Iterator[Finding]:
    """Report a small file system for temporary files, such as one in main memory."""
    disk, seen = temporary_disk(view), _directory(view, _TEMPORARY)
    if disk is None or disk.free >= LITTLE_DISK:
        return
    in_memory = seen is not None and seen.type == "tmpfs"
    memory = " (tmpfs: in main memory, and counted as memory of the job)" if in_memory else ""
    yield warning(
        "little-tmp",
        f"{size(disk.free)} of {size(disk.total)} are free at {disk.path}, a file system of its own{memory}",
        "Apptainer, podman and pip unpack images and packages there: a GPU image takes 3.7 to 4.7 GiB",
        Remedy(
            text="name a directory with room",
            command="export TMPDIR=/path/with/room APPTAINER_TMPDIR=/path/with/room",
        ),
    )


def clock_not_synchronized(view: MachineView) -> Iterator[Finding]:
    """Report a clock that no time server sets."""
    seen = known(view.facts.clock)
    if seen and seen.synchronized is False:
        yield note(
            "clock-not-synchronized",
            "no time server sets the clock of this machine (adjtimex reports an unsynchronized clock)",
            "where clocks of nodes differ, certificates and tokens are refused as expired or not yet valid, and logs of"
            " several workers have no common order",
            Remedy(text="show what sets it", command="timedatectl timesync-status || chronyc tracking"),
        )


def login_node(view: MachineView) -> Iterator[Finding]:
    """Report a machine that starts jobs and does not run them: what is true of it says nothing about other nodes."""
    seen = known(view.facts.scheduler)
    if seen and seen.name and not seen.job and not view.has_gpu and not view.is_module_loaded:
        yield note(
            "login-node",
            f"commands of {_SCHEDULERS.get(seen.name, seen.name)} are installed, there is no GPU, and this is not a"
            " job: probably a login node",
            "findings and verdicts are about this machine, not about the nodes that run jobs; an image that runs on the"
            " processor only here can run on their GPUs",
            *_on_nodes(seen.name),
        )


_SCHEDULERS = {"slurm": "Slurm", "pbs": "PBS", "lsf": "LSF"}


def _on_nodes(scheduler: str) -> Iterator[Remedy]:
    if scheduler == "slurm":
        yield Remedy(text="probe all nodes", command="envbuilder fleet probe --on slurm -o fleet-probe.sh")
    yield Remedy(
        text="or probe a node in a job",
        command="envbuilder probe -o probe.py\npython3 probe.py --hardware > facts.json  # in a job\n"
        "envbuilder doctor facts.json",
    )


def _directory(view: MachineView, role: str) -> Directory | None:
    """Return the facts about a directory; None if there are none."""
    for each in known(view.facts.directories) or ():
        if each.role == role and isinstance(each.state, Seen):
            return each.state.value
    return None


def _is_squashed(view: MachineView, seen: Directory) -> bool:
    """Return True if root has lost its rights in a directory of a file server."""
    is_root = view.interpreter is not None and view.interpreter.uid == 0
    other = seen.owner not in {None, 0} if seen.writable else seen.error in _DENIED
    return is_root and seen.type.startswith("nfs") and other


def _read_only_image(view: MachineView) -> str:
    root = _directory(view, _ROOT)
    return " (the whole root file system is mounted read-only)" if root and not root.writable else ""


def _place(seen: Directory) -> str:
    return f"{seen.path}, {seen.type}" if seen.type else seen.path


def _named(role: str) -> str:
    names = {_HOME: "file system of HOME", _ROOT: "root file system"}
    return names.get(role, "file system of the directory for temporary files")
