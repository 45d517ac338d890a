"""Files by which Charliecloud starts a root file system.

`ch-run --set-env` reads `/ch/environment`; the files of the host that it binds need a file of that name in the image.

Source: https://hpc.github.io/charliecloud/ch-run.html; measured with ch-run 0.31 on 2026-11-23.
"""

from __future__ import annotations

from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.image_environment import variables_of
from envbuilder.oci.tar.members import Member, file_of

_BOUND = ("etc/hosts", "etc/resolv.conf")


def charliecloud_files(image: AssembledImage, *, epoch: int) -> tuple[Member, ...]:
    """Return the environment of an image, and mount points for files of the host; `epoch` is their time."""
    environment = "".join(f"{name}={value}\n" for name, value in variables_of(image))
    return (
        file_of("ch/environment", environment.encode(), mtime=epoch),
        *(file_of(path, b"", mtime=epoch) for path in _BOUND),
    )
