"""A real engine, the installed command, and a cache directory for each worker.

Tests of the group `engine` change the images of one engine, or look at all of them, so they run one after another on
one worker; the other files run beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import docker
import pytest

from envbuilder.image.container_engine import ContainerEngine
from envbuilder.image.docker.engine import connect
from tests.contract import registry
from tests.e2e.environments import environment
from tests.fakes.documents import refuse_other_documents

MARKER = "envbuilder-e2e-marker-5f3a"
"""Stands in the CA bundle and in a proxy variable of every build here; no image may contain it."""

_PREFIX = "envbuilder-test/"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str

    def document(self) -> Any:  # noqa: ANN401  any JSON
        """Standard output as JSON."""
        assert self.stdout, self.stderr
        return json.loads(self.stdout)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The installed `envbuilder`.

    Attributes:
        environ: Environment of every call.
        cache: Its cache folder.
    """

    environ: Mapping[str, str]
    cache: Path

    def __call__(self, *arguments: str | Path, folder: Path | None = None, **more: str) -> Ended:
        """Run it and wait."""
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            env={**self.environ, **more},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        refuse_other_documents([str(argument) for argument in arguments], done.stdout)
        return Ended(status=done.returncode, stdout=done.stdout, stderr=done.stderr)

    @property
    def program(self) -> str:
        """Path of the command, beside the interpreter that runs the tests."""
        return str(Path(sys.executable).parent / "envbuilder")


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    """The command with a fresh cache directory, and with host settings that must not leak."""
    folder = tmp_path_factory.mktemp("envbuilder-e2e")
    bundle = folder / "ca.pem"
    original = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
    bundle.write_text(f"# {MARKER}\n" + Path(original).read_text(encoding="utf-8"), encoding="utf-8")
    yield Tool(
        environ={
            **os.environ,
            "ENVBUILDER_CACHE": str(folder / "cache"),
            "SSL_CERT_FILE": str(bundle),
            "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY", ""), f"{MARKER}.invalid"])),
        },
        cache=folder / "cache",
    )
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def engine() -> ContainerEngine:
    """The real engine; these tests fail without one."""
    found = connect(os.environ)
    found.info()
    return found


@pytest.fixture(scope="session")
def python_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the interpreter of an environment with the packages of a row; each is made once."""
    folder = tmp_path_factory.mktemp("environments")
    return cache(lambda row: environment(row, folder / row))


@pytest.fixture
def loopback_registry(tmp_path: Path) -> Iterator[str]:
    """A real registry on the loopback interface."""
    with registry.serve(tmp_path) as address:
        yield address


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove every image that these tests tagged, after the last worker."""
    if hasattr(session.config, "workerinput"):
        return
    with suppress(docker.errors.DockerException), closing(docker.from_env()) as client:
        for image in client.images.list():
            for tag in image.tags:
                if tag.startswith((_PREFIX, "127.0.0.1:")):
                    client.images.remove(tag, force=True)
