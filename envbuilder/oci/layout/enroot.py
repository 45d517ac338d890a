"""Files for enroot and pyxis inside an image's root file system.

Source: https://github.com/NVIDIA/enroot/blob/master/doc/image-format.md: `/etc/rc` starts the command,
`/etc/environment` holds the variables, `/etc/fstab` the mounts. pyxis passes the variables of the job, but for those
that `/etc/environment` has.
"""

from __future__ import annotations

import shlex

from envbuilder.core.errors import UsageError
from envbuilder.core.json_fields import record, text, texts
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.image_environment import config_of, variables_of
from envbuilder.oci.tar.members import Member, file_of

DIGEST_FILE = "etc/envbuilder-image"


def start_files(image: AssembledImage, *, epoch: int) -> tuple[Member, ...]:
    """Return the files for a root file system without its configuration, and the digest of its image.

    `epoch` is the time of the files, in seconds since 1970.

    Raises:
        UsageError: A variable or volume contains a newline, which these files cannot represent.
    """
    config = config_of(image)
    variables = [f"{name}={value}" for name, value in variables_of(image)]
    volumes = [
        f"${{ENROOT_ROOTFS}}{path} {path} none x-create=dir,bind,rw,nosuid,nodev"
        for path in sorted(record(config, "Volumes"))
    ]
    return (
        file_of(DIGEST_FILE, f"{image.manifest.descriptor.digest}\n".encode(), mtime=epoch),
        file_of("etc/environment", _lines(variables), mtime=epoch),
        file_of("etc/fstab", _lines(volumes), mtime=epoch),
        file_of("etc/rc", _start(config).encode(), mtime=epoch, mode=0o755),
    )


def _lines(lines: list[str]) -> bytes:
    for line in lines:
        if "\n" in line:
            raise UsageError(f"the image configuration contains {line!r}, which has several lines")
    return "".join(f"{line}\n" for line in lines).encode()


def _start(config: object) -> str:
    folder = shlex.quote(text(config, "WorkingDir") or "/")
    entry_point = texts(config, "Entrypoint")
    command = texts(config, "Cmd") if entry_point or texts(config, "Cmd") else ("/bin/sh",)
    given = shlex.join(entry_point) + " " if entry_point else ""
    return (
        f"mkdir -p {folder} 2> /dev/null\n"
        f"cd {folder} && unset OLDPWD || exit 1\n"
        "if [ $# -gt 0 ]; then\n"
        f'    exec {given}"$@"\n'
        "else\n"
        f"    exec {given}{shlex.join(command)}\n"
        "fi\n"
    )
