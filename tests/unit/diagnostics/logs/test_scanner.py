"""Reading: any encoding, any length of line, counts, and line numbers that a reader finds again."""

from __future__ import annotations

import io
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.diagnostics.logs.decoding import BLOCK, blocks, clean
from envbuilder.diagnostics.logs.scanner import gate, key_of, scan
from tests.unit.diagnostics.logs.logs import CUDNN_MISSING, OOM, classes, failures, judged, read

PREFIXES = (
    "",
    "[pod/trainer-0/main] 2023-05-01T10:00:00.123456Z stderr F ",
    "2023-05-01T10:00:00.1Z ",
    "(worker pid=77) ",
    "[1,3]<stderr>:",
    "# ",
    "> ",
    '{"log":"',
    "\x1b[31m",
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_a_cause_is_found_in_every_encoding(encoding: str) -> None:
    log = f"début\r\nEpoch 1/5\r\n{OOM}\r\n".encode(encoding)
    found = judged(log)
    assert found.causes[0].finding.id == "oom-batch-too-large"
    assert found.causes[0].lines == (3,)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_stands_before_a_message_hides_nothing(prefix: str) -> None:
    assert classes(f"{prefix}{OOM}\n")[0] == "oom-batch-too-large"
    # These stand for something at the start of a line only.
    assert classes(f"{prefix}Killed\n")[0] == "host-oom"
    assert classes(f"{prefix}No devices were found\n")[0] == "no-driver-or-gpu-not-passed"


def test_escapes_of_markdown_and_html_and_typographic_quotes_hide_nothing() -> None:
    escaped = OOM.replace("_", r"\_")
    assert classes(escaped)[0] == "oom-batch-too-large"
    assert classes("AttributeError: &#39;str&#39; object has no attribute &#39;decode&#39;")[0] == "h5py-decode"
    assert classes("AttributeError: module \u2018tensorflow\u2019 has no attribute \u2018Session\u2019")[0] == (
        "keras-tf-mismatch"
    )


def test_a_progress_bar_is_one_line_and_its_last_state_counts() -> None:
    bar = "\r".join(f"{step}/100 [=====>....] loss: 0.{step}" for step in range(100))
    found = judged(f"start\n{bar}\r{OOM}\nend\n")
    assert found.causes[0].lines == (2,)
    assert found.lines == 3


def test_lines_without_an_end_are_read_to_the_end() -> None:
    for place in (10, BLOCK - 40, BLOCK - 10, BLOCK + 300, 3 * BLOCK):
        found = judged(b"x" * place + b" " + OOM.encode() + b" " + b"y" * 5000)
        assert [cause.finding.id for cause in found.causes][:1] == ["oom-batch-too-large"], place
        assert found.causes[0].lines == (1,)


def test_line_numbers_are_right_across_blocks() -> None:
    filler = "".join(f"{number} some words of a program\n" for number in range(60_000))
    assert len(filler) > BLOCK
    found = judged(f"{filler}{CUDNN_MISSING}\n{filler}{CUDNN_MISSING}\n")
    assert found.causes[0].lines == (60_001, 120_002)
    assert found.lines == 120_002


def test_lines_of_one_kind_are_counted_and_few_are_kept() -> None:
    log = "".join(f"2020-01-01 00:00:{second % 60}: {CUDNN_MISSING}\n" for second in range(5000))
    hit = read(log).hits["dlopen-cudnn"]
    assert (hit.count, hit.first, hit.last) == (5000, 1, 5000)
    assert len(hit.samples) <= 24


def test_a_figure_that_differs_in_digits_only_is_read_again() -> None:
    lines = "\n".join(f"container exited with code {status}" for status in (0, 1, 2, 137))
    assert classes(lines) == ("host-oom",)


def test_the_memory_does_not_grow_with_the_log() -> None:
    """27 MB of lines that are all different, half of it long words that are all different."""
    pieces = iter(range(9))

    def unlike(_: int) -> bytes:
        piece = next(pieces, None)
        if piece is None:
            return b""
        names = (format(piece * 2000 + each, "b").replace("0", "q").replace("1", "z") for each in range(2000))
        return b"".join(name.encode() + (b"_" if piece % 2 else b"x") * 1500 + b"\n" for name in names)

    tracemalloc.start()
    evidence = scan(failures(), unlike)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert evidence.lines == 18_000
    assert peak < 25_000_000


def test_every_example_opens_the_gate() -> None:
    anchored = [signature for signature in failures().signatures if not signature.at_end]
    opened = gate(anchored)
    for signature in anchored:
        for example in signature.examples:
            assert signature.id in {each.id for each in opened.open_to(key_of(example.encode()))}, signature.id


@pytest.mark.parametrize("word", ["Getötet", "Processus arrêté", "已杀死", "Убито", "Killed"])
def test_a_killed_process_is_found_in_the_languages_of_the_shell(word: str) -> None:
    assert classes(f"Using TensorFlow backend.\nEpoch 1/10\n{word}\nme@node:~$ ")[0] == "host-oom"


def test_the_end_of_a_log_is_its_last_lines_and_not_the_middle() -> None:
    assert classes("Getötet\n" + "Epoch 1/10\n" * 20) == ()
    evidence = read("x\n" * 5000 + "Getötet\n\n \n")
    assert evidence.hits["killed-translated"].first == 5001


@given(st.binary(max_size=3000))
@settings(max_examples=25, deadline=None)
def test_any_bytes_are_read(data: bytes) -> None:
    evidence = read(data)
    assert evidence.lines >= 0
    assert judged(data).lines == evidence.lines


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20))
@settings(max_examples=25, deadline=None)
def test_how_a_stream_is_cut_does_not_matter(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    remaining = iter(pieces)
    cut = blocks(lambda _: next(remaining, b""))
    at_once = blocks(io.BytesIO(whole).read)
    if not whole.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")) and whole.count(0) < 4:
        assert b"\n".join(block.data for block in cut) == b"\n".join(block.data for block in at_once)


def hostile(seed: str, length: int) -> bytes:
    return (seed * (length // len(seed) + 1))[:length].encode("utf-8", "replace")


SEEDS = st.one_of(
    st.sampled_from([each for signature in failures().signatures for each in signature.anchors]),
    st.text(alphabet="a0.[(' =-/\\_:é", min_size=1, max_size=8),
    st.sampled_from(["name: name: ", "GPU GPU:", "1.2.3.4", "version version `GLIBC_", "failed call to cuInit: "]),
)


@given(SEEDS)
@settings(max_examples=12, deadline=None)
def test_a_hostile_line_costs_no_more_than_its_length(seed: str) -> None:
    """Twice the length costs about twice the time: a ratio, so that the speed of the machine is nothing to it."""
    patterns = failures()

    def cost(length: int) -> float:
        data = hostile(seed, length)
        return shortest(lambda: scan(patterns, io.BytesIO(data).read))

    fixed = shortest(lambda: scan(patterns, io.BytesIO(b"").read))
    small, large = cost(20_000) - fixed, cost(80_000) - fixed
    assert large < 16 * max(small, 0.02)


def shortest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(2):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def test_colours_are_removed_even_when_the_escape_was_lost() -> None:
    assert clean(b"\x1b[1;31mError\x1b[0m: x") == "Error: x"
    assert clean(b"[0;31mError[0m: x") == "Error: x"
