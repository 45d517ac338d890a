"""What an error says holds no user and no password."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import Fault, InvalidInput, SourceUnreachable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see http://me:secret@h:1/x for it", "see http://h:1/x for it"),
        ("see http://token@h/x", "see http://h/x"),
        ("see 'tcp://me:se/cr@et@h:1': no", "see 'tcp://h:1': no"),
        ("http://a:b@h and https://c:d@i", "http://h and https://i"),
        ("docker://h:5000/team/tf@sha256:1234", "docker://h:5000/team/tf@sha256:1234"),
        ("http://me:secret@h/x@sha256:1234", "http://h/x@sha256:1234"),
        (f"git+ssh://git@h:22/x@{'a' * 40}: no", f"git+ssh://h:22/x@{'a' * 40}: no"),
        (f"https://me:se/cret@{'a' * 40}.example/x", f"https://{'a' * 40}.example/x"),
        (f"https://me:secret@{'a' * 40}:80", f"https://{'a' * 40}:80"),
        ("https://h/@team/x", "https://h/@team/x"),
        ("http://h/x, user@example", "http://h/x, user@example"),
        ("name it as ssh://USER@HOST", "name it as ssh://USER@HOST"),
        ("--index https://USER:PASSWORD@HOST/PATH", "--index https://USER:PASSWORD@HOST/PATH"),
    ],
)
def test_logins_of_addresses_are_left_out_of_messages_and_hints(text: str, shown: str) -> None:
    error = SourceUnreachable(text, hint=text)
    assert (error.message, str(error), error.hint) == (shown, shown, shown)
    fault = Fault(file="envbuilder.yaml", line=1, field="sources.index", problem=text)
    assert shown in InvalidInput((fault,)).message
