"""What apt prints becomes pins, or an error that says what to do."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import ResolutionFailed, SourceUnreachable
from envbuilder.lock.lock import OsPackagePin
from envbuilder.lock.resolve.apt import AptResolver
from envbuilder.oci.runtime.command import RunRequest, RunResult

HASH = "0123456789abcdef" * 4
LINE = f"'http://mirror.example/pool/main/{{}}' {{}} 1234 SHA256:{HASH}\n"


class Container:
    """Ends as it is told, and remembers what it ran."""

    def __init__(self, stdout: str = "", *, status: int = 0, stderr: str = "") -> None:
        self.asked: list[RunRequest] = []
        self._result = RunResult(status=status, stdout=stdout.encode(), stderr=stderr.encode(), timed_out=False)

    def __call__(self, request: RunRequest) -> RunResult:
        self.asked.append(request)
        return self._result


def resolve(container: Container) -> tuple[OsPackagePin, ...]:
    return AptResolver(run=container).resolve("base", ("git",))


@pytest.mark.parametrize(
    ("file", "name", "version"),
    [
        ("git_2.39.5-0+deb12u1_amd64.deb", "git", "2.39.5-0+deb12u1"),
        ("git_1%3a2.39.5-0_amd64.deb", "git", "1:2.39.5-0"),
        ("libstdc++6_12.2.0-14_amd64.deb", "libstdc++6", "12.2.0-14"),
        ("libcudnn7_7.0.5.15-1+cuda9.0_amd64.deb", "libcudnn7", "7.0.5.15-1+cuda9.0"),
        ("tzdata_2024a-0+deb12u1_all.deb", "tzdata", "2024a-0+deb12u1"),
        ("x11-common_1%3a7.7+23_all.deb", "x11-common", "1:7.7+23"),
        ("base-files_12.4%2bdeb12u8~rc1_amd64.deb", "base-files", "12.4+deb12u8~rc1"),
    ],
)
def test_a_printed_address_is_a_pin_with_its_epoch(file: str, name: str, version: str) -> None:
    assert resolve(Container(LINE.format(file, file))) == (OsPackagePin(name=name, version=version, sha256=HASH),)


def test_pins_are_sorted_and_other_lines_are_left_out() -> None:
    lines = "Reading package lists...\n" + LINE.format("z", "zlib1g_1_amd64.deb") + LINE.format("a", "acl_1_amd64.deb")
    assert [pin.name for pin in resolve(Container(lines))] == ["acl", "zlib1g"]


def test_nothing_to_fetch_is_no_pin() -> None:
    assert resolve(Container("")) == ()


@pytest.mark.parametrize(
    "line",
    [
        "'http://mirror.example/git_1_amd64.deb' git_1_amd64.deb 1234 MD5Sum:0123\n",
        "'http://mirror.example/git_1_amd64.deb' git_1_amd64.deb 1234\n",
        "'http://mirror.example/git' something else\n",
    ],
)
def test_a_package_without_sha256_is_refused(line: str) -> None:
    with pytest.raises(ResolutionFailed, match="lists no sha256"):
        resolve(Container(line))


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ("E: Unable to locate package gitt", ResolutionFailed),
        ("E: Version '9' for 'git' was not found", ResolutionFailed),
        ("E: Package 'x' has no installation candidate", ResolutionFailed),
        ("E: Failed to fetch http://mirror.example/InRelease  Could not resolve 'mirror.example'", SourceUnreachable),
        ("E: The repository is not signed.", SourceUnreachable),
    ],
)
def test_a_failure_of_apt_is_told_apart_and_quoted(told: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="git") as caught:
        resolve(Container(status=100, stderr=f"W: noise\n{told}\n"))
    assert told in str(caught.value)


def test_apt_runs_as_root_in_the_base_with_the_network_and_settings_of_the_host() -> None:
    container = Container()
    resolver = AptResolver(run=container, ca_bundle=b"pem", proxies=(("http_proxy", "http://proxy.example"),))
    resolver.resolve("base", ("git", "curl=1"))
    (request,) = container.asked
    assert (request.image, request.user, request.network) == ("base", "root", "host")
    assert request.env == (("WANTED", "git curl=1"), ("http_proxy", "http://proxy.example"))
    assert [content for _, content in request.files] == [b"pem"]
