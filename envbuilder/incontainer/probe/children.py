"""Work that can crash or hang, in child processes."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from envbuilder.incontainer.probe.values import CLOCK, TRACE_LINES, text_lines, unseen

BUDGET = 120
NOT_ENOUGH = 1.0
# Where children find the directory that TMPDIR named before.
GIVEN_TMPDIR = "ENVBUILDER_PROBE_TMPDIR"


def given_directory():
    """Return the directory in which programs of this user put temporary files, whether it can be written or not."""
    return os.environ.get(GIVEN_TMPDIR) or os.environ.get("TMPDIR") or "/tmp"


class Steps(object):
    """The steps of one part of the probe, each reported as soon as it is done.

    A child is started for all of them. If it crashes, or takes longer than its budget, that is the fact of this
    step, and another child continues with the next one.
    """

    def __init__(self, part, path, names, budgets, limit):
        self.part, self.path, self.names, self.budgets = part, path, list(names), budgets
        self.deadline = CLOCK() + limit
        self.seen, self.log = {}, []

    def run(self, first=""):
        """Return facts by name; without the step `first` the others are impossible."""
        left = self.names
        while left:
            ended, culprit = self._one_child(left)
            if ended is None:
                break
            if culprit is None:
                # It ended before its first step, or after the last: no step is left.
                self._give_up([name for name in left if name not in self.seen], ended["error"]["message"])
                break
            self.seen[culprit] = ended
            left = [name for name in left[left.index(culprit) + 1 :] if name not in self.seen]
            if culprit == first:
                self._give_up(left, ended["error"]["message"])
                break
            if self.deadline - CLOCK() < NOT_ENOUGH:
                self._give_up(left, "the time for all of them was used up")
                break
        return self.seen

    def _give_up(self, names, why):
        for name in names:
            self.seen[name] = unseen("NotReached", "the process had ended before: " + why)

    def _one_child(self, names):
        """Return how the child ended (None: well), and its step at that time."""
        child = Child(self.part, self.path, names)
        try:
            ended = child.watch(self.budgets, self.deadline)
        finally:
            child.close()
        self.seen.update(child.seen)
        self.log += child.log
        return ended, child.step


class Child(object):
    """One process: its facts by name, its current step, and its last other lines of output."""

    def __init__(self, part, path, names):
        self.seen, self.log, self.step = {}, [], None
        command = [sys.executable] + (["-X", "faulthandler"] if sys.version_info >= (3, 3) else [])
        command += [os.path.abspath(__file__), "--part", part, "--only", ",".join(names)]
        command += ["--request", path] if path else []
        environment = dict(os.environ, TF_CPP_VMODULE="dso_loader=1,cuda_gpu_check=1")
        if environment.get("ENVBUILDER_MEMORY", "all") in ("", "all"):
            # The probe uses little memory of a GPU, unless the image has a policy, which is then examined.
            environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
        # A child that crashes or skips its clean-up leaves files behind (AutoGraph does); they go with this directory.
        self.scratch = tempfile.mkdtemp(prefix="envbuilder-")
        environment.update({GIVEN_TMPDIR: given_directory(), "TMPDIR": self.scratch})
        self.written = tempfile.TemporaryFile()
        self.started = CLOCK()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.written, env=environment, preexec_fn=os.setsid
        )

    def close(self):
        """End the process and release its resources."""
        if self.process.poll() is None:
            self._kill()
        self.process.stdout.close()
        self.written.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _kill(self):
        """End the whole group; SIGABRT first, so that faulthandler writes the position of the process."""
        for number, patience in ((signal.SIGABRT, 2.0), (signal.SIGKILL, 30.0)):
            try:
                os.killpg(self.process.pid, number)
            except OSError:
                pass
            if self._has_ended(patience):
                return

    def _has_ended(self, patience):
        deadline = CLOCK() + patience
        while self.process.poll() is None and CLOCK() < deadline:
            time.sleep(0.02)
        return self.process.returncode is not None

    def watch(self, budgets, deadline):
        """Read its output until it ends, or until a step is out of time; return how it ended, None for well."""
        since, rest, late = CLOCK(), b"", None
        pipe = self.process.stdout.fileno()
        while late is None:
            until = min(since + budgets.get(self.step, BUDGET), deadline)
            if not select.select([pipe], [], [], max(0.0, min(until - CLOCK(), 1.0)))[0]:
                late = CLOCK() >= until or None
                continue
            piece = os.read(pipe, 1 << 16)
            if not piece:
                break
            lines = (rest + piece).split(b"\n")
            rest, since = lines.pop(), CLOCK()
            for line in lines:
                self._take(line)
        if late is not None or not self._has_ended(10.0):
            self._kill()
        self.written.seek(0)
        self.log = [line for line in text_lines(self.written.read()) if line]
        return how_it_ended(self.process.returncode, late, CLOCK() - since, self.log)

    def _take(self, line):
        """Process one line: the start of a step, or its fact; a line cut off by a crash is ignored."""
        try:
            record = json.loads(line.decode("utf-8"))
        except ValueError:
            return
        if "fact" in record:
            self.seen[record["name"]] = record["fact"]
            self.step = None
        else:
            self.step = record["name"]


def how_it_ended(status, late, seconds, log):
    """Return the unseen fact for a child that did not end well; None for one that did."""
    if late is not None:
        return unseen("Timeout", "no answer after {0:.0f} s".format(seconds), seconds, innermost(log))
    if status < 0:
        return unseen("Signal", signal_name(-status), seconds, innermost(log))
    if status > 0:
        return unseen("Exit", "the process ended with status {0}".format(status), seconds, log)
    return None


def innermost(log):
    """Return the lines around the place of a crash: faulthandler writes the innermost call first."""
    for index, line in enumerate(log):
        if line.startswith("Fatal Python error"):
            return log[index : index + TRACE_LINES]
    return log


def signal_name(number):
    """Return the name of a signal, such as SIGSEGV."""
    names = [name for name in dir(signal) if re.match(r"SIG[A-Z]+$", name) and getattr(signal, name) == number]
    return sorted(names)[0] if names else "signal {0}".format(number)


def run_part(part, path, names, limit, first=""):
    """Return all steps of one part: facts by name, and the other lines of its processes."""
    steps = Steps(part, path, names, {}, limit)
    return steps.run(first), steps.log


def use_writable_directory():
    """Put temporary files into /dev/shm if no usual directory for them can be written, as in a read-only image."""
    try:
        tempfile.gettempdir()
    except (IOError, OSError):
        tempfile.tempdir = "/dev/shm"
