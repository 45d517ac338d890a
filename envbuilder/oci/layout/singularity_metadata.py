"""Files of `/.singularity.d`, by which Apptainer and Singularity start a root file system.

Apptainer 1.4 clears the environment, reads `env/*.sh`, and then restores those variables of the host that no file has
set; where the host sets a variable that is empty here, it is removed. `--env` and `APPTAINERENV_…` are applied after
`99-base.sh`, which also makes the libraries of `--nv` visible.

Source: `internal/pkg/util/fs/files/action_scripts.go` of Apptainer 1.4.5, and measured with it on 2026-11-23.
"""

from __future__ import annotations

import shlex
from importlib.resources import files

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.image_layout import VENV
from envbuilder.core.json_fields import record, texts
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.image_environment import cleared, config_of, environment_of
from envbuilder.oci.tar.members import Member, file_of

DIRECTORY = ".singularity.d"
LABELS_FILE = f"{DIRECTORY}/labels.json"

_BASE = """\
#!/bin/sh
# The driver's libraries, which --nv binds here.
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/.singularity.d/libs"
export LD_LIBRARY_PATH
"""


def metadata_files(image: AssembledImage, *, epoch: int) -> tuple[Member, ...]:
    """Return the files for `apptainer exec`, `run`, `test`, `inspect` and `instance start`; `epoch` is their time."""
    config = config_of(image)
    programs = {
        "env/90-environment.sh": _environment(image),
        "env/99-base.sh": _BASE,
        "runscript": _command(config, '"$@"'),
        "startscript": "#!/bin/sh\n",
        "test": f"#!/{VENV}/bin/python\n{_test_source()}",
    }
    scripts = (
        file_of(f"{DIRECTORY}/{name}", content.encode(), mtime=epoch, mode=0o755) for name, content in programs.items()
    )
    return (*scripts, file_of(LABELS_FILE, canonical_json(record(config, "Labels")), mtime=epoch))


def _environment(image: AssembledImage) -> str:
    environment = environment_of(image)
    return "".join(
        (
            "#!/bin/sh\n",
            "# The variables of the image. Override one with --env or APPTAINERENV_NAME.\n",
            *(f"export {name}={shlex.quote(value)}\n" for name, value in environment),
            "# Variables of the host that change Python or the locale: empty ones are removed.\n",
            *(f"export {name}=\n" for name in cleared(environment)),
        )
    )


def _command(config: object, arguments: str) -> str:
    entry_point, command = texts(config, "Entrypoint"), texts(config, "Cmd")
    given = shlex.join(entry_point) + " " if entry_point else ""
    default = shlex.join(command if command or entry_point else ("/bin/sh",))
    return f"#!/bin/sh\nif [ $# -gt 0 ]; then\n    exec {given}{arguments}\nfi\nexec {given}{default}\n"


def _test_source() -> str:
    return files("envbuilder.incontainer").joinpath("image_test.py").read_text(encoding="utf-8")
