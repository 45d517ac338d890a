"""Any evidence that there could be, for properties."""

from __future__ import annotations

from datetime import date

from hypothesis import strategies as st

from envbuilder.catalog.evidence import (
    BuiltWithStandIns,
    Documented,
    Evidence,
    Grade,
    Measured,
    ProvenImage,
    RanOnCpu,
    RanOnGpu,
    Resolved,
    Unproven,
)
from tests.unit.lock.closures import DIGESTS
from tests.unit.lock.locks import HASHES, LINES, NAMES

DAYS = st.dates(min_value=date(2015, 11, 9))
EVIDENCE: st.SearchStrategy[Evidence] = st.one_of(
    st.builds(Documented, where=LINES, when=DAYS),
    st.builds(Measured, file=LINES, sha256=HASHES, when=DAYS),
    st.builds(Resolved, bases=st.lists(NAMES).map(tuple), python=LINES, closure=DIGESTS, when=DAYS),
    st.builds(RanOnCpu, python=LINES, glibc=LINES, closure=DIGESTS, when=DAYS, report=LINES),
    st.builds(
        BuiltWithStandIns,
        base=NAMES,
        python=LINES,
        closure=DIGESTS,
        lock=DIGESTS,
        stand_ins=st.sets(st.sampled_from(["libcuda.so.1", "libcufft.so.9.0", "libcusolver.so.10.0"]), min_size=1).map(
            lambda names: tuple(sorted(names))
        ),
        when=DAYS,
        report=LINES,
    ),
    st.builds(ProvenImage, base=NAMES, python=LINES, closure=DIGESTS, lock=DIGESTS, when=DAYS, report=LINES),
    st.builds(RanOnGpu, base=NAMES, gpu=LINES, driver=LINES, closure=DIGESTS, lock=DIGESTS, when=DAYS, report=LINES),
)
UNPROVEN = st.builds(Unproven, grade=st.sampled_from(Grade), why=LINES, when=DAYS)
