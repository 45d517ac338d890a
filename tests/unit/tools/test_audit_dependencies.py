from __future__ import annotations

import json
import sys
from pathlib import Path

from tools.audit_dependencies import Audit, ask, audit_of

CLEAN = {"name": "click", "version": "8.5.1", "vulns": []}
FLAWED = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}
UNFIXED = {"name": "old", "version": "1", "vulns": [{"id": "PYSEC-2", "fix_versions": [], "aliases": []}]}
UNKNOWN = {"name": "own", "skip_reason": "Dependency not found"}


def told(*dependencies: object) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


def test_a_known_vulnerability_is_named_with_the_release_that_mends_it() -> None:
    audit = audit_of(told(CLEAN, FLAWED, UNFIXED), "")
    assert audit.lines == (
        "dependencies: 3 checked, 2 known vulnerabilities",
        "  jinja2 2.0: PYSEC-1, fixed in 2.1",
        "  old 1: PYSEC-2, fixed in none",
    )


def test_what_the_database_does_not_have_is_said_not_to_be_checked() -> None:
    assert audit_of(told(CLEAN, UNKNOWN), "").lines == (
        "dependencies: 1 checked, no known vulnerability",
        "dependencies: not checked: 1 that the database does not have (own)",
    )
    assert audit_of(told(UNKNOWN), "").lines == ("dependencies: not checked: 1 that the database does not have (own)",)


def test_a_database_that_does_not_answer_is_said_to_be_silent() -> None:
    audit = audit_of("", "Traceback (most recent call last):\nConnectionError: no route\n")
    assert audit.lines == ("dependencies: not checked: the database does not answer: ConnectionError: no route",)
    assert audit.failure == ""


def test_a_program_that_fails_is_not_a_silent_database() -> None:
    assert audit_of("", "python: No module named pip_audit").failure == (
        "pip-audit failed: python: No module named pip_audit"
    )
    assert audit_of("[]", "").failure == "pip-audit failed: it wrote nothing"


def test_the_program_is_given_the_requirements(tmp_path: Path) -> None:
    wanted = tmp_path / "requirements.txt"
    program = (sys.executable, "-c", f"import sys; sys.argv[1] == {str(wanted)!r} and print({told(CLEAN)!r})")
    assert ask(wanted, program) == Audit(checked=1)
