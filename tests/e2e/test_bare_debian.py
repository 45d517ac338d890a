"""The first command of a new user: `make demo` on a Debian 12 with nothing but Python, git, make and certificates."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.wiring.mirrors import host_mirror
from tests.fakes.catalogs import ROOT

PACKAGES = "python3,python3-venv,git,make,ca-certificates"
SMALL = "tf-2.5-cpu"
"""Its base has its own Python, and two of its packages are built from source."""

_CHECKOUT = "root/envbuilder"
_CA = "etc/ssl/certs/of-the-host.pem"
# How this machine reaches the package index; a user's own settings.
_PASSED_ON = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
# pivot_root, not chroot: inside a chroot nobody may make the user namespaces that commands of an image run in.
_ENTER = """
set -eu
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cd "$root"
mkdir -p .old
pivot_root . .old
umount -l /.old
cd /root/envbuilder
exec /usr/bin/env -i "$@"
"""


@dataclass(frozen=True, kw_only=True)
class BareDebian:
    """A root file system with a checkout.

    Attributes:
        root: Its directory on this machine.
    """

    root: Path

    def __call__(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, with this environment and what is needed to reach the sources."""
        whole: Mapping[str, str] = {
            "HOME": "/root",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            **{name: os.environ[name] for each in _PASSED_ON for name in (each, each.lower()) if name in os.environ},
            "SSL_CERT_FILE": f"/{_CA}",
            "PIP_CERT": f"/{_CA}",
            **environ,
        }
        return subprocess.run(
            [
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, "sh"),
                *(f"{name}={value}" for name, value in whole.items()),
                *command,
            ],
            env={**os.environ, "root": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareDebian]:
    """The root, made from Debian's packages, and the files of this checkout that git knows or would."""
    root = tmp_path_factory.mktemp("bare")
    # Tens of thousands of small files: minutes on a busy disk, seconds in memory. It takes about 1.5 GiB.
    _done("mount", "-t", "tmpfs", "-o", "size=4g,mode=755", "bare-debian", str(root))
    try:
        _fill(root)
        yield BareDebian(root=root)
    finally:
        _done("umount", str(root))


def _fill(root: Path) -> None:
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    texts = [path.read_text("utf-8") for path in files if path.is_file()]
    mirror = host_mirror(texts, BaseKind.DEBIAN)
    options = ("--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io", f"--include={PACKAGES}")
    _done("mmdebstrap", *options, "bookworm", str(root), *([mirror] if mirror else []))
    original = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
    shutil.copyfile(original, root / _CA)
    for name in ("resolv.conf", "hosts"):
        shutil.copyfile(f"/etc/{name}", root / "etc" / name)
    names = _done("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in names:
        # A file that was removed from the working tree is still in the index.
        if name and (ROOT / name).is_file():
            target = root / _CHECKOUT / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def _done(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command[:1])}: {done.stderr[-2000:]}"
    return done.stdout


def test_the_first_command_builds_an_image_and_proves_it(debian: BareDebian) -> None:
    done = debian("make", "demo", f"ENV={SMALL}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "PASSED in tier cpu" in done.stdout
    # Built by the Python of Debian 12, not by one that the machine of the test has.
    assert debian(".venv/bin/python", "--version").stdout == debian("/usr/bin/python3", "--version").stdout
    assert debian("/usr/bin/python3", "--version").stdout.startswith("Python 3.11.2")


def test_what_needs_another_python_says_where_one_comes_from_and_never_to_pack_one_that_is_not_there(
    debian: BareDebian,
) -> None:
    assert debian("make", "setup").returncode == 0
    done = debian(
        *(".venv/bin/envbuilder", "build", "tf-2.4-cuda11.0"),
        DOCKER_HOST="unix:///nonexistent/docker.sock",
        UV_PYTHON_INSTALL_MIRROR="http://127.0.0.1:9",
        UV_HTTP_RETRIES="0",
    )
    assert done.returncode == 5, done.stderr
    hint = done.stderr.split("next: ")[1]
    assert "where CPython 3.8 is installed" in hint
    assert "envbuilder build tf-2.5-cuda11.2" in hint


def test_the_python_of_debian_is_refused_by_name_and_with_the_reason(debian: BareDebian) -> None:
    assert debian("make", "setup").returncode == 0
    done = debian(".venv/bin/envbuilder", "python", "pack", "3.11")
    assert done.returncode == 9
    assert "/usr/bin/python3.11 cannot be packed: it belongs to the operating system" in done.stderr
