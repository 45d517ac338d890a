"""Start an image in each installed program that runs images, and print what was seen: `python -m tools.consumers DIR`.

DIR holds the image in all forms, as `envbuilder build ENV --engine assemble` writes them with `-o DIR/layout`,
`DIR/image.tar`, `DIR/image.sqsh` and `DIR/image.sif`. Prints rows of the Markdown table in docs/images.md. `--python
CODE` runs the interpreter of the image with the code instead of printing the environment, such as `import tensorflow`.
`--registry HOST/NAME@DIGEST` names the same image in a registry; one without TLS needs APPTAINER_NOHTTPS=1, and for
podman `insecure = true` in registries.conf.

The host is a hostile one: PYTHONPATH, conda and the locale are set to what no image has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SEARCH = ("/usr/sbin", "/sbin")
HOSTILE = {
    "CONDA_PREFIX": "/of/the/host",
    "LC_ALL": "tlh_KX.UTF-8",
    "PYTHONHOME": "/of/the/host",
    "PYTHONPATH": "/of/the/host",
    "PYTHONUSERBASE": "/of/the/host",
}
_SHOW = ("/usr/bin/env", "-0")
_CLEAN = ("--cleanenv",)
"""What docs/images.md recommends for images that Apptainer converts."""
_SECONDS = 900.0
_LINES = 4


class ConsumerFailed(Exception):
    """A program that runs images ended with an error; the message has the end of what it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """One image in all forms.

    Attributes:
        folder: Directory with `layout`, `image.tar`, `image.sqsh` and `image.sif`.
        scratch: Directory for files of the programs; removed by the caller.
        environ: Environment of the programs.
    """

    folder: Path
    scratch: Path
    environ: Mapping[str, str]

    def output(self, *command: str) -> str:
        """Run a program of the host and return its standard output.

        Raises:
            ConsumerFailed: It fails.
        """
        environ = dict(self.environ)
        done = subprocess.run(
            command, env=environ, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ConsumerFailed(f"{command[0]} ended with status {done.returncode}: {' / '.join(said[-_LINES:])}")
        return done.stdout.decode(errors="replace")

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the image, as the configuration in the layout has them."""
        index = json.loads((self.folder / "layout" / "index.json").read_bytes())
        manifest = json.loads(self._blob(index["manifests"][0]["digest"]))
        config = json.loads(self._blob(manifest["config"]["digest"]))
        return dict(item.partition("=")[::2] for item in config["config"]["Env"])

    def _blob(self, digest: str) -> bytes:
        return (self.folder / "layout" / "blobs" / digest.replace(":", "/")).read_bytes()


Start = Callable[[Forms, Sequence[str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A program that starts one form of an image.

    Attributes:
        program: Name of the program.
        form: Form of the image.
        start: Runs a command in the image and returns its output.
        is_exact: Whether the command gets the variables as they are in the image, and none of the host that change
            Python. Apptainer converts the configuration of OCI images by itself: it changes quotes, and hides nothing.
        version: Arguments that print its version.
        needs: Further programs.
    """

    program: str
    form: str
    start: Start
    is_exact: bool = True
    version: tuple[str, ...] = ("--version",)
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name in tests and tables."""
        return f"{self.program} {self.form}"

    def missing(self) -> str:
        """Return the first program that is not installed; empty if all are."""
        places = os.pathsep.join((os.environ.get("PATH", os.defpath), *SEARCH))
        return next((name for name in (self.program, *self.needs) if shutil.which(name, path=places) is None), "")


def _apptainer(source: str, *options: str) -> Start:
    def start(forms: Forms, command: Sequence[str]) -> str:
        # A look at the environment shows what the options are for.
        used = () if command == _SHOW else options
        return forms.output("apptainer", "--quiet", "exec", *used, source.format(forms.folder), *command)

    return start


def _podman(source: str) -> Start:
    def start(forms: Forms, command: Sequence[str]) -> str:
        options = ("--rm", "--network", "none", "--entrypoint", "")
        # podman refuses a runroot of more than 50 characters.
        with tempfile.TemporaryDirectory(prefix="podman-") as run:
            storage = ("--root", f"{run}/root", "--runroot", run, "--tmpdir", f"{run}/libpod")
            try:
                return forms.output("podman", *storage, "run", *options, source.format(forms.folder), *command)
            finally:
                forms.output("podman", *storage, "rmi", "--all", "--force")

    return start


def _charliecloud(forms: Forms, command: Sequence[str]) -> str:
    return forms.output("ch-run", "--set-env", f"{forms.folder}/image.sqsh", "--", *command)


def _enroot(forms: Forms, command: Sequence[str]) -> str:
    return forms.output("enroot", "start", f"{forms.folder}/image.sqsh", *command)


def _docker(forms: Forms, command: Sequence[str]) -> str:
    # A name that the engine has belongs to somebody else, and is kept.
    known = set(forms.output("docker", "images", "--format", "{{.Repository}}:{{.Tag}}").split())
    loaded = forms.output("docker", "load", "--quiet", "--input", f"{forms.folder}/image.tar")
    images = [line.partition(": ")[2] for line in loaded.splitlines()]
    try:
        return forms.output("docker", "run", "--rm", "--network", "none", "--entrypoint", "", images[0], *command)
    finally:
        for name in images:
            if name not in known:
                forms.output("docker", "rmi", name)


def _containerd(forms: Forms, command: Sequence[str]) -> str:
    name = f"envbuilder-{uuid.uuid4().hex}"
    space = ("ctr", "--namespace", name)
    told = forms.output(*space, "image", "import", f"{forms.folder}/image.tar")
    image = told.split()[1]
    try:
        return forms.output(*space, "run", "--rm", image, "consumers", *command)
    finally:
        forms.output(*space, "image", "rm", "--sync", *forms.output(*space, "image", "ls", "--quiet").split())
        forms.output("ctr", "namespaces", "rm", name)


def _runc(forms: Forms, command: Sequence[str]) -> str:
    """Run what umoci unpacks, with its configuration but for the command and the terminal."""
    names = json.loads((forms.folder / "layout" / "index.json").read_bytes())["manifests"][0]["annotations"]
    source = f"{forms.folder}/layout:{names['org.opencontainers.image.ref.name']}"
    bundle = forms.scratch / "bundle"
    forms.output("umoci", "unpack", *(() if os.geteuid() == 0 else ("--rootless",)), "--image", source, str(bundle))
    config = json.loads((bundle / "config.json").read_bytes())
    config["process"] |= {"args": list(command), "terminal": False, "rlimits": []}
    (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
    state = ("runc", "--root", f"{forms.scratch}/state")
    return forms.output(*state, "run", "--bundle", str(bundle), f"envbuilder-{uuid.uuid4().hex}")


CONSUMERS = (
    Consumer(program="apptainer", form="squashfs", start=_apptainer("{}/image.sqsh")),
    Consumer(program="apptainer", form="sif", start=_apptainer("{}/image.sif")),
    Consumer(program="apptainer", form="layout", start=_apptainer("oci:{}/layout", *_CLEAN), is_exact=False),
    Consumer(
        program="apptainer", form="archive", start=_apptainer("oci-archive:{}/image.tar", *_CLEAN), is_exact=False
    ),
    Consumer(program="podman", form="layout", start=_podman("oci:{}/layout")),
    Consumer(program="podman", form="archive", start=_podman("oci-archive:{}/image.tar")),
    Consumer(program="ch-run", form="squashfs", start=_charliecloud),
    Consumer(program="enroot", form="squashfs", start=_enroot, version=("version",)),
    Consumer(program="docker", form="archive", start=_docker),
    Consumer(program="ctr", form="archive", start=_containerd),
    Consumer(program="runc", form="layout", start=_runc, needs=("umoci",)),
)
"""All that are tried, in the order of the table; a further one is a function and a line."""


def of_registry(reference: str) -> tuple[Consumer, ...]:
    """Return the programs that start an image of a registry."""
    source = f"docker://{reference}"
    return (
        Consumer(program="apptainer", form="registry", start=_apptainer(source, *_CLEAN), is_exact=False),
        Consumer(program="podman", form="registry", start=_podman(source)),
    )


def forms_in(folder: Path, scratch: Path, environ: Mapping[str, str]) -> Forms:
    """Return the forms of an image for programs of a hostile host.

    Args:
        folder: As in `Forms`.
        scratch: As in `Forms`; made if it is missing.
        environ: Environment of this process.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join((environ.get("PATH", os.defpath), *SEARCH))
    # ch-run requires USER. Directories of Apptainer and enroot have to be removed with everything else.
    own = {
        "PATH": paths,
        "USER": environ.get("USER", "root"),
        "APPTAINER_CACHEDIR": f"{scratch}/apptainer",
        "APPTAINER_TMPDIR": str(scratch),
        **{f"ENROOT_{name}_PATH": f"{scratch}/enroot-{name.lower()}" for name in ("RUNTIME", "CACHE", "DATA")},
    }
    return Forms(folder=folder.absolute(), scratch=scratch, environ={**environ, **HOSTILE, **own})


def environment_in(consumer: Consumer, forms: Forms) -> dict[str, str]:
    """Return the environment of a command that a program starts in the image."""
    shown = consumer.start(forms, _SHOW)
    return dict(item.partition("=")[::2] for item in shown.split("\0") if "=" in item)


def lost(environment: Mapping[str, str], forms: Forms) -> tuple[str, ...]:
    """Return the variables of the image that a command does not get, sorted by name.

    Directories behind those of the image in PATH are no loss.
    """
    own = forms.variables
    path = own.pop("PATH")
    missing = [name for name, value in own.items() if environment.get(name) != value]
    return tuple(sorted([*missing, *([] if environment.get("PATH", "").startswith(path) else ["PATH"])]))


def leaked(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables of the hostile host that a command gets, sorted by name."""
    return tuple(sorted(name for name, value in HOSTILE.items() if environment.get(name) == value))


def _version(consumer: Consumer, forms: Forms) -> str:
    command = (consumer.program, *consumer.version)
    # ch-run prints it on standard error.
    done = subprocess.run(command, env=dict(forms.environ), capture_output=True, check=True, text=True)
    return next(iter(re.findall(r"\d+(?:\.\d+)+", done.stdout + done.stderr)), "of unknown version")


def _row(consumer: Consumer, forms: Forms, code: str) -> str:
    began = time.monotonic()
    try:
        version = _version(consumer, forms)
        if code:
            seen = consumer.start(forms, ("/opt/venv/bin/python", "-c", code)).strip().splitlines()[-1]
        else:
            environment = environment_in(consumer, forms)
            seen = f"{', '.join(lost(environment, forms)) or 'whole'} | {', '.join(leaked(environment)) or 'none'}"
    except ConsumerFailed as error:
        version, seen = "", f"FAILED: {error}"
    return f"| {consumer.program} {version} | {consumer.form} | {seen} | {time.monotonic() - began:.0f} s |"


def main(arguments: Sequence[str]) -> int:
    """Print a row for each program and form; return 1 if one fails or none is installed."""
    parser = argparse.ArgumentParser(prog="tools.consumers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--python", default="", metavar="CODE", help="run this code and show its last line")
    parser.add_argument("--registry", default="", metavar="IMAGE", help="the same image in a registry")
    parser.add_argument("--only", default="", metavar="NAME", help="this program, or program and form, only")
    given = parser.parse_args(arguments)
    rows = []
    for consumer in (*CONSUMERS, *(of_registry(given.registry) if given.registry else ())):
        if not consumer.name.startswith(given.only):
            continue
        missing = consumer.missing()
        if missing:
            print(f"{consumer.name}: {missing} is not installed", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory(dir=given.folder, prefix=".consumers-") as name:
            forms = forms_in(given.folder, Path(name) / "scratch", os.environ)
            rows.append(_row(consumer, forms, given.python))
            print(rows[-1], flush=True)
    return 0 if rows and not any("FAILED" in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
