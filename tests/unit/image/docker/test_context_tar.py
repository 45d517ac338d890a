import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import UsageError
from envbuilder.image.docker.context_tar import context, files_tar

LONG = "w" * 160 + ".whl"


def write(folder: Path, *, reverse: bool = False, umask: int = 0o022, mtime: float = 1.5) -> Path:
    """The same files, made in another order, at another time, by somebody with another umask."""
    before = os.umask(umask)
    try:
        names = ["Dockerfile", "a/deep/file.txt", "A.txt", LONG, "grün.txt", "empty", "run.sh"]
        for name in reversed(names) if reverse else names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"" if name == "empty" else name.encode() * 100)
            os.utime(path, (mtime, mtime))
        (folder / "run.sh").chmod(0o700 if reverse else 0o755)
        (folder / "link").symlink_to("a/deep")
    finally:
        os.umask(before)
    return folder


def entries(stream: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(stream)) as tar:
        return tar.getmembers()


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one = write(tmp_path / "one")
    other = write(tmp_path / "other", reverse=True, umask=0o077, mtime=1e9)
    assert b"".join(context(one, "Dockerfile")) == b"".join(context(other, "Dockerfile"))


def test_the_dockerfile_comes_first_with_a_plain_ustar_header(tmp_path: Path) -> None:
    stream = b"".join(context(write(tmp_path), "Dockerfile"))
    assert stream[:10] == b"Dockerfile"
    assert stream[156:157] == tarfile.REGTYPE
    assert stream[257:263] == b"ustar\x00"


def test_every_file_arrives_with_its_content(tmp_path: Path) -> None:
    stream = b"".join(context(write(tmp_path), "Dockerfile"))
    assert len(stream) % tarfile.BLOCKSIZE == 0
    with tarfile.open(fileobj=io.BytesIO(stream)) as tar:
        for name in ("Dockerfile", "a/deep/file.txt", LONG, "grün.txt"):
            content = tar.extractfile(name)
            assert content is not None
            assert content.read() == name.encode() * 100
        assert tar.getmember("link").linkname == "a/deep"


def test_entries_are_sorted_and_say_nothing_about_who_and_when(tmp_path: Path) -> None:
    found = entries(b"".join(context(write(tmp_path), "Dockerfile")))
    names = [entry.name for entry in found]
    assert names[1:] == sorted(names[1:])
    assert {(entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime) for entry in found} == {(0, 0, "", "", 0)}
    assert {entry.mode for entry in found if entry.isfile()} == {0o644, 0o755}
    assert next(entry.mode for entry in found if entry.name == "run.sh") == 0o755


def test_a_large_file_is_not_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    with (tmp_path / "wheel").open("wb") as file:
        file.truncate(5 * 1024 * 1024 + 1)
    pieces = [len(piece) for piece in context(tmp_path, "Dockerfile")]
    assert max(pieces) <= 1024 * 1024
    assert sum(pieces) % tarfile.BLOCKSIZE == 0


def test_a_file_that_shrinks_on_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    wheel = tmp_path / "wheel"
    wheel.write_bytes(bytes(4 * 1024 * 1024))
    stream = context(tmp_path, "Dockerfile")

    def read() -> None:
        for piece in stream:
            if len(piece) > tarfile.BLOCKSIZE:
                os.truncate(wheel, 1024)

    with pytest.raises(UsageError, match="shorter"):
        read()


def test_a_pipe_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    os.mkfifo(tmp_path / "pipe")
    assert [entry.name for entry in entries(b"".join(context(tmp_path, "Dockerfile")))] == ["Dockerfile"]


def test_a_folder_without_its_dockerfile_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Dockerfile\.classic") as caught:
        context(tmp_path, "Dockerfile.classic")
    assert "envbuilder render" in caught.value.hint


def test_files_for_a_container_bring_no_folders() -> None:
    found = entries(files_tar((("/tmp/a/b", b"x"), ("/c", b""))))
    assert [(entry.name, entry.mode, entry.isfile()) for entry in found] == [
        ("tmp/a/b", 0o644, True),
        ("c", 0o644, True),
    ]


@given(
    st.dictionaries(
        st.from_regex(r"/[a-z]{1,8}(/[a-z]{1,120}){0,2}", fullmatch=True), st.binary(max_size=2000), max_size=4
    )
)
def test_what_is_put_into_a_container_is_read_back(files: dict[str, bytes]) -> None:
    with tarfile.open(fileobj=io.BytesIO(files_tar(files.items()))) as tar:
        read = {}
        for entry in tar:
            content = tar.extractfile(entry)
            assert content is not None
            read[f"/{entry.name}"] = content.read()
    assert read == files
