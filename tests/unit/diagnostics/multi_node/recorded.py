"""Facts of workers that were recorded on a real machine, on 2026-11-23, two workers in network namespaces of their own.

| folder | what was done |
|---|---|
| `good-1.15`, `good-2.15` | nothing |
| `name` | the list of workers names worker 1 by a name that nothing resolves |
| `closed` | worker 0 has another port of worker 1 in its list |
| `noroute` | the route from worker 0 to worker 1 was removed |
| `dropped` | the route from worker 1 to worker 0 was removed, so that answers are lost |
| `taken` | another program listened on the port of worker 1 |
| `address` | the name of worker 1 leads to worker 0 |
| `never` | worker 1 was not started |
| `killed` | worker 1 was killed while TensorFlow started |
| `mixed` | worker 0 has TensorFlow 2.4, worker 1 has 2.15 |
| `proxy` | `http_proxy` names a host that does not answer; 2.4 |
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from envbuilder.diagnostics.checks.results import Failed, NotProven, Passed, Report
from envbuilder.diagnostics.multi_node.facts import decode_worker, gather
from envbuilder.diagnostics.multi_node.judge import judge

FOLDER = Path(__file__).parents[3] / "data" / "multi_node"


def documents(case: str) -> list[dict[str, Any]]:
    """Return the documents of a folder, by the number of the worker."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((FOLDER / case).iterdir())]


def judged(*written: dict[str, Any], require: bool = False) -> Report:
    """Return the report on documents."""
    workers = [decode_worker(json.dumps(document), f"file {number}") for number, document in enumerate(written)]
    return judge(gather(workers), subject="facts", environment="", require=require, seconds=1.0)


def kinds(report: Report) -> dict[str, list[str]]:
    """Return the ids of the checks by the kind of their outcome."""
    found: dict[str, list[str]] = {}
    for result in report.results:
        match result.outcome:
            case Passed():
                found.setdefault("passed", []).append(result.id)
            case Failed():
                found.setdefault("failed", []).append(result.id)
            case NotProven():
                found.setdefault("not proven", []).append(result.id)
    return found


def problem(report: Report) -> str:
    """Return message and remedy of the only failure."""
    [finding] = [result.outcome.finding for result in report.results if isinstance(result.outcome, Failed)]
    return f"{finding.message} -> {finding.remedy}"
