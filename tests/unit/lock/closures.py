"""Any closures that there could be, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from envbuilder.lock.closures import Answer, Chosen, Closure
from tests.unit.lock.locks import HASHES, NAMES, RELEASES

DIGESTS = HASHES.map("sha256:{}".format)
# Version and file stand in one line, between spaces.
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=0x7E, exclude_characters="/"), min_size=1, max_size=16)
CHOSEN = st.builds(Chosen, name=NAMES, version=WORDS, file=WORDS, sha256=HASHES)
CLOSURES = st.builds(
    Closure,
    python=RELEASES,
    answers=st.lists(st.builds(Answer, base=NAMES, request=DIGESTS), min_size=1, max_size=3).map(tuple),
    packages=st.lists(CHOSEN, max_size=3).map(tuple),
    build=st.lists(CHOSEN, max_size=2).map(tuple),
)
SHIPPED = st.lists(CLOSURES, min_size=1, max_size=3).map(tuple)
