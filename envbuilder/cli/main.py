"""The command line: its commands by name, and the exit status of errors."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from envbuilder import __version__
from envbuilder.cli.global_options import with_global_options
from envbuilder.cli.groups import LazyGroup, Sections
from envbuilder.cli.output.failures import report, report_end, report_usage
from envbuilder.cli.output.streams import opened_streams
from envbuilder.cli.output.terminal import TERMINAL
from envbuilder.cli.system_errors import of_the_system
from envbuilder.core.errors import EnvbuilderError

SECTIONS: Sections = {
    "Environments": {
        "list": ("envbuilder.cli.list", "List the available environments."),
        "show": ("envbuilder.cli.show", "Show one environment: every pin and the reason for it."),
        "advise": ("envbuilder.cli.advise", "Recommend environments for a machine or a set of versions."),
    },
    "Project": {
        "adopt": ("envbuilder.cli.adopt", "Write an envbuilder.yaml and its lock for an existing project."),
        "init": ("envbuilder.cli.init", "Write a commented envbuilder.yaml."),
        "lock": ("envbuilder.cli.lock", "Resolve envbuilder.yaml to exact files with hashes."),
        "diff": ("envbuilder.cli.diff", "Compare two locks."),
        "export": ("envbuilder.cli.export", "Write a lock as a file of pip, uv, conda, Compose or an editor."),
    },
    "Images": {
        "plan": ("envbuilder.cli.plan", "Show the layers of an image without building it."),
        "render": ("envbuilder.cli.render", "Write a Dockerfile and its build context."),
        "build": ("envbuilder.cli.build", "Build the images of environments or locks."),
        "validate": ("envbuilder.cli.validate", "Check an image against its lock and its environment."),
        "run": ("envbuilder.cli.run", "Run a command in an image."),
        "shell": ("envbuilder.cli.shell", "Open a shell in an image."),
        "sign": ("envbuilder.cli.sign", "Sign an image in its registry."),
        "verify": ("envbuilder.cli.verify", "Compare an image with its lock, byte by byte, and check who signed it."),
        "reproduce": (
            "envbuilder.cli.reproduce",
            "Build a lock twice under different conditions and compare the images.",
        ),
        "scan": ("envbuilder.cli.scan", "Find known vulnerabilities of a lock or an image."),
        "fetch": ("envbuilder.cli.fetch", "Fetch every file that locks need into a directory."),
        "bundle": ("envbuilder.cli.bundle", "Pack a lock and all its files into one archive."),
        "mirror": ("envbuilder.cli.mirror", "Send every file that locks need to a registry."),
    },
    "Clusters": {
        "cluster": ("envbuilder.cli.cluster", "Write job files for Slurm, Kubernetes and Apptainer."),
        "fleet": ("envbuilder.cli.fleet", "Probe the nodes of a cluster and check which images run on them."),
        "multi-node": ("envbuilder.cli.multi_node", "Check that several workers of an image train together."),
    },
    "Machines and failures": {
        "doctor": ("envbuilder.cli.doctor", "Find problems of this host and the environments that run on it."),
        "diagnose": ("envbuilder.cli.diagnose", "Find the cause of a failure in a log and a fix."),
        "compare": ("envbuilder.cli.compare", "Compare two machines, locks or images."),
        "probe": ("envbuilder.cli.probe", "Write the probe as one Python file to run on another machine."),
    },
    "Maintenance": {
        "completion": (
            "envbuilder.cli.completion",
            "Print a script that completes commands, options and environments.",
        ),
        "config": ("envbuilder.cli.config", "Show the settings of this user and their origins."),
        "schema": ("envbuilder.cli.schema", "Print the JSON Schema of a document."),
        "cache": ("envbuilder.cli.cache", "List, verify and prune the cache directory."),
        "base": ("envbuilder.cli.base", "Create and list bases of Debian and Ubuntu packages."),
        "python": ("envbuilder.cli.python", "Pack and list interpreter archives."),
        "catalog": ("envbuilder.cli.catalog", "Measure, prove and check the environments of the catalog."),
    },
}
"""The commands by section."""
_ENVIRONMENTS = (
    *("build", "bundle", "fetch", "init", "list", "mirror", "plan", "render", "reproduce", "run"),
    *("scan", "shell", "show", "validate"),
)
"""Commands whose arguments are environments."""

_STOPPING = (signal.SIGTERM, signal.SIGHUP)
STOPPED = frozenset(128 + number for number in (signal.SIGINT, *_STOPPING))
"""Statuses of an interrupted process, as in a shell."""


class Stopped(KeyboardInterrupt):
    """A signal asked the process to end; it is cleaned up as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    environments=_ENVIRONMENTS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, prog_name="envbuilder")
def cli() -> None:
    """Build and validate container images for TensorFlow on GPUs.

    \b
    envbuilder list                       list the available environments
    envbuilder build tf-2.4-cuda11.0      build the image of one environment
    envbuilder validate tf-2.4-cuda11.0   check that the image works
    envbuilder doctor                     find problems of this machine
    envbuilder diagnose train.log         find the cause of a failure in a log
    """  # noqa: D301  click wants the control character itself: it keeps the lines apart


with_global_options(cli)


def entry() -> None:
    """Run the command line and end the process with the documented status."""
    with opened_streams():
        sys.exit(_status())


def _status() -> int:
    TERMINAL.begin()
    try:
        with stoppable():
            status = cli.main(prog_name="envbuilder", standalone_mode=False)
        # The rest of the buffer may not fit either.
        sys.stdout.flush()
        # Without its standalone mode click returns the status of `Exit` instead of ending the process.
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        # The reader of our output has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except click.ClickException as error:
        return report_usage(error)
    except (KeyboardInterrupt, click.Abort) as error:
        # click converts every `KeyboardInterrupt` to an `Abort`.
        cause = error if isinstance(error, KeyboardInterrupt) else error.__cause__
        number = cause.signal if isinstance(cause, Stopped) else signal.SIGINT
        return report_end("cancelled" if number is signal.SIGINT else f"stopped by {number.name}", 128 + number)
    except Exception as error:  # noqa: BLE001  a bug keeps its traceback, and its status is not that of findings
        ours = error if isinstance(error, EnvbuilderError) else of_the_system(error)
        if ours is not None:
            return report(ours)
        traceback.print_exc()
        return EnvbuilderError.exit_code


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` in the block if a signal asks the process to end; ignored signals (nohup) stay ignored."""

    def stop(number: int, _frame: FrameType | None) -> None:
        # Cleaning up must not be interrupted by the next one.
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in _STOPPING}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
