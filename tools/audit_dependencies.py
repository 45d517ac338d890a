"""Compare pinned dependencies with the database of known vulnerabilities: `python -m tools.audit_dependencies FILE`.

Exit status 1 with a known vulnerability, or when pip-audit itself fails. A database that does not answer, or does not
have a package, is no reason to fail: the output says what was not checked.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 300.0
_COMMAND = (
    *("-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json"),
    *("--vulnerability-service", "pypi", "--timeout", "10", "--requirement"),
)
_MOST_NAMES = 5
_NO_ANSWER = re.compile(r"ConnectionError|ServiceError|HTTPError|Timeout|Could not connect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What is known about the pinned dependencies.

    Attributes:
        checked: How many the database has.
        unchecked: Names of those that it does not have; sorted.
        findings: One line for each known vulnerability.
        silence: Why the database could not be asked; empty otherwise.
        failure: Why pip-audit failed; empty otherwise.
    """

    checked: int = 0
    unchecked: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    silence: str = ""
    failure: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The audit as lines of text."""
        if self.silence or self.failure:
            return (f"dependencies: not checked: {self.silence or self.failure}",)
        found = f"{len(self.findings)} known vulnerabilities" if self.findings else "no known vulnerability"
        said = [f"dependencies: {self.checked} checked, {found}"] if self.checked else []
        if self.unchecked:
            more = ", …" if len(self.unchecked) > _MOST_NAMES else ""
            names = ", ".join(self.unchecked[:_MOST_NAMES])
            said.append(
                f"dependencies: not checked: {len(self.unchecked)} that the database does not have ({names}{more})"
            )
        return (*said, *self.findings)


def audit_of(output: str, problem: str) -> Audit:
    """Return the audit that pip-audit wrote.

    Args:
        output: Its standard output; JSON when the database answered.
        problem: Its standard error.
    """
    try:
        listed = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (problem.strip().splitlines() or ["it wrote nothing"])[-1]
        if _NO_ANSWER.search(reason):
            return Audit(silence=f"the database does not answer: {reason}")
        return Audit(failure=f"pip-audit failed: {reason}")
    known = [each for each in listed if "vulns" in each]
    return Audit(
        checked=len(known),
        unchecked=tuple(sorted(each["name"] for each in listed if "vulns" not in each)),
        findings=tuple(
            f"  {each['name']} {each['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'none'}"
            for each in known
            for flaw in each["vulns"]
        ),
    )


def ask(requirements: Path, command: Sequence[str] = (sys.executable, *_COMMAND)) -> Audit:
    """Run pip-audit on a requirements file with hashes."""
    try:
        done = subprocess.run(
            [*command, str(requirements)], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Audit(silence=f"the database did not answer within {_SECONDS:.0f} s")
    return audit_of(done.stdout, done.stderr)


def main() -> int:
    """Audit the file that the command line names."""
    audit = ask(Path(sys.argv[1]))
    sys.stdout.write("".join(f"{line}\n" for line in audit.lines))
    return 1 if audit.findings or audit.failure else 0


if __name__ == "__main__":
    sys.exit(main())
