import pytest

from envbuilder.core.errors import BuildFailed, DiskFull, EnvbuilderError, SourceUnreachable, VerificationFailed
from envbuilder.image.docker.build_failures import SYMPTOMS, explain

FAILED = "executor failed running [/bin/sh -c make]: exit code: 1"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DiskFull, "tar: /opt/x: Cannot write: No space left on device"),
        (VerificationFailed, "  error: Hash mismatch for `numpy==1.19.5`"),
        (VerificationFailed, "sha256sum: WARNING: 1 computed checksum did NOT match"),
        (VerificationFailed, "sha256sum: WARNING: 1 of 1 computed checksums did NOT match"),
        (VerificationFailed, "/tmp/python.tar.zst: FAILED"),
        (VerificationFailed, "E: Failed to fetch file:/x.deb  Hash Sum mismatch"),
        (SourceUnreachable, "  Caused by: error sending request for url (http://127.0.0.1:9/simple/numpy/)"),
        (SourceUnreachable, "  Caused by: dns error: failed to lookup address information"),
        (SourceUnreachable, "curl: (6) Could not resolve host: mirror.example"),
        (SourceUnreachable, "W: Temporary failure resolving 'mirror.example'"),
        (SourceUnreachable, "wget: can't connect to remote host (127.0.0.1): Connection refused"),
        (SourceUnreachable, "ssl.SSLCertVerificationError: certificate verify failed: unable to get local issuer"),
        (SourceUnreachable, "  Caused by: invalid peer certificate: UnknownIssuer"),
        (SourceUnreachable, "E: Version '0.11.7-2' for 'libbsd0' was not found"),
        (SourceUnreachable, "error: No solution found when resolving dependencies:"),
        (BuildFailed, "/bin/sh: nvcc: not found"),
        (BuildFailed, "sha256sum: x.tar: FAILED open or read"),
        (BuildFailed, "tests/test_x.py::test_y FAILED"),
    ],
)
def test_the_output_of_the_failed_step_tells_the_cause(error: type[EnvbuilderError], line: str) -> None:
    found = explain(FAILED, step="[2/3] RUN make", output=("before", line))
    assert type(found) is error
    assert "[2/3] RUN make" in found.message
    assert f"  | {line}" in found.message
    assert FAILED in found.message


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DiskFull, "failed to write /var/lib/docker/x: no space left on device"),
        (SourceUnreachable, "pull access denied, repository does not exist or may require authorization"),
        (SourceUnreachable, "manifest unknown: manifest unknown"),
        (SourceUnreachable, "manifest for mirror.example/x:1 not found"),
        (SourceUnreachable, "mirror.example/x:1: failed to resolve source metadata for mirror.example/x:1"),
        (SourceUnreachable, "failed to solve: mirror.example/x:1: not found"),
        (SourceUnreachable, 'failed to do request: Head "http://127.0.0.1:9/v2/x": connect: connection refused'),
        (SourceUnreachable, 'Get "https://mirror.example/v2/": dial tcp: lookup mirror.example: no such host'),
        (SourceUnreachable, 'Get "https://mirror.example/v2/": x509: certificate signed by unknown authority'),
        (VerificationFailed, "failed to copy: unexpected commit digest sha256:1, expected sha256:2: digest mismatch"),
        (BuildFailed, "dockerfile parse error line 1: unknown instruction: FRO"),
    ],
)
def test_the_message_of_the_engine_tells_the_cause(error: type[EnvbuilderError], message: str) -> None:
    assert type(explain(message)) is error


def test_a_missing_base_comes_with_the_two_ways_out() -> None:
    hint = explain("manifest unknown").hint
    assert "envbuilder base bootstrap" in hint
    assert "mirror" in hint


def test_an_untrusted_certificate_comes_with_a_word_about_the_bundle() -> None:
    assert "CA bundle" in explain(FAILED, output=("certificate verify failed",)).hint


def test_a_full_disk_is_the_cause_even_when_a_checksum_fails_too() -> None:
    output = ("write error: No space left on device", "x: FAILED", "computed checksum did NOT match")
    assert isinstance(explain(FAILED, output=output), DiskFull)


def test_a_failed_build_carries_its_step() -> None:
    found = explain(FAILED, step="[2/3] RUN make")
    assert isinstance(found, BuildFailed)
    assert found.step == "[2/3] RUN make"


def test_every_symptom_has_a_hint_and_a_pattern() -> None:
    for symptom in SYMPTOMS:
        assert symptom.hint
        assert symptom.engine or symptom.output


def test_a_step_is_told_without_its_mounts() -> None:
    step = "[2/3] RUN --mount=type=tmpfs,target=/run     --mount=type=cache,target=/x     make all"
    assert explain(FAILED, step=step).message.startswith("the build failed at [2/3] RUN make all\n")


@pytest.mark.parametrize(
    "line",
    [
        "  Failed to build `horovod==0.28.1`",
        "RuntimeError: Failed to install temporary CMake. Please update your CMake to 3.13+.",
        "error: command 'gcc' failed: No such file or directory",
        "error: command '/usr/bin/x86_64-linux-gnu-gcc' failed with exit code 1",
        "unable to execute 'g++': No such file or directory",
        "ERROR: Failed building wheel for mpi4py",
    ],
)
def test_a_package_that_needs_a_compiler_is_told_where_to_name_one(line: str) -> None:
    found = explain(FAILED, step="[2/3] RUN uv pip install", output=(line,))
    assert isinstance(found, BuildFailed)
    assert found.step == "[2/3] RUN uv pip install"
    assert "`build_tools:`" in found.hint
