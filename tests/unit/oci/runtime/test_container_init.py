"""Signals that reach the first process of a container."""

import subprocess
import sys

from envbuilder.oci.runtime.namespaces import INSIDE

_SECONDS = 60

_SLOWLY = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import container_init

fork = os.fork


def slow_in_the_parent():
    child = fork()
    if child:
        time.sleep(0.3)
    return child


os.fork = slow_in_the_parent
container_init._be_init()
os.execv("/bin/sh", ["sh", "-c", "trap 'echo saved; exit 5' TERM; echo begun; while :; do sleep 0.1; done"])
"""


def test_a_signal_is_not_lost_if_the_command_runs_before_the_process_that_passes_signals_on() -> None:
    """On a busy machine a child may run long before `fork` returns in its parent."""
    command = [sys.executable, "-I", "-S", "-c", _SLOWLY, str(INSIDE.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            process.terminate()
            assert process.wait(_SECONDS) == 5
            assert process.stdout.read() == b"saved\n"
        finally:
            process.kill()
