"""A directory of facts: one file for each node, and the list of the nodes that were to be probed.

nodes.txt    names of the expected nodes, one on each line
NODE.json    facts of the probe
NODE.err     messages of the probe, of ssh or of the scheduler
NODE.run     exit status, and seconds since 1970 before and after the probe, by the clock of the collecting machine
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from envbuilder.cluster.fleet.node_names import is_node_name
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.core.files import read_text
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import decode

EXPECTED_NODES = "nodes.txt"
FACTS_SUFFIX = ".json"
_LONGEST_REASON = 300
# Packages of the interpreter that ran the probe: nothing of an image, and most of each file.
_NOT_OF_NODES = frozenset({"software", "distributions"})
_LINE = re.compile(r"\bline (\d{1,9})\b")
_RUN = re.compile(r"(-?\d{1,5}) (\d{1,12}) (\d{1,12})\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """One run of the probe, by the clock of the collecting machine.

    Attributes:
        started: Seconds since 1970.
        ended: Likewise.
    """

    status: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """The facts of a node.

    Attributes:
        run: The run of the probe; None if it was not recorded.
    """

    node: str
    facts: Facts
    run: ProbeRun | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentNode:
    """An expected node without facts.

    Attributes:
        why: The last two messages about it; a general one if there is none.
    """

    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableNode:
    """A node whose file does not contain facts.

    Attributes:
        faults: All faults of its file.
    """

    node: str
    faults: tuple[Fault, ...]


CollectedNode: TypeAlias = NodeFacts | SilentNode | UnreadableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A directory of facts.

    Attributes:
        nodes: Expected nodes and those with a file, sorted.
        has_list: Whether the expected nodes are known; otherwise a node without a file cannot be noticed.
    """

    folder: Path
    nodes: tuple[str, ...]
    has_list: bool

    def read(self, node: str) -> CollectedNode:
        """Return what the directory has about a node."""
        file = self.folder / f"{node}{FACTS_SUFFIX}"
        try:
            text = read_text(file) if file.is_file() else ""
            if not text.strip():
                return SilentNode(node=node, why=self._why_silent(node))
            return NodeFacts(node=node, facts=decode(text, node, without=_NOT_OF_NODES), run=self._run(node))
        except InvalidInput as error:
            return UnreadableNode(node=node, faults=tuple(_placed(fault, file) for fault in error.faults))

    def _why_silent(self, node: str) -> str:
        run = self._run(node)
        lines = [line.strip() for line in _optional(self.folder / f"{node}.err").splitlines() if line.strip()]
        if lines:
            return "; ".join(lines[-2:])[:_LONGEST_REASON]
        if run is not None:
            return f"the probe ended with status {run.status} and wrote nothing"
        return "no answer: there is no file of it in the directory"

    def _run(self, node: str) -> ProbeRun | None:
        found = _RUN.fullmatch(_optional(self.folder / f"{node}.run"))
        return ProbeRun(status=int(found[1]), started=int(found[2]), ended=int(found[3])) if found else None


def open_collection(folder: Path, expected: tuple[str, ...] = ()) -> Collection:
    """Return a directory of facts.

    Args:
        folder: The directory.
        expected: Only these nodes; empty for those of `nodes.txt`, and all that have a file.

    Raises:
        UsageError: It is not a directory, or has neither facts nor a list of nodes.
        InvalidInput: `nodes.txt` has a line that is not the name of a node.
    """
    if not folder.is_dir():
        raise UsageError(
            f"directory not found: {folder}", hint="`envbuilder fleet probe` writes the script that fills it"
        )
    listing = folder / EXPECTED_NODES
    listed = tuple(_listed(listing)) if listing.is_file() else ()
    present = {file.name.removesuffix(FACTS_SUFFIX) for file in folder.glob(f"*{FACTS_SUFFIX}")}
    nodes = expected or tuple({*listed, *filter(is_node_name, present)})
    if not nodes:
        raise UsageError(
            f"no facts in {folder}: it has neither NODE.json nor {EXPECTED_NODES}",
            hint="`envbuilder fleet probe` writes the script that fills it",
        )
    return Collection(folder=folder, nodes=tuple(sorted(nodes)), has_list=bool(expected or listed))


def _listed(file: Path) -> Iterator[str]:
    """Yield the names of a list of nodes; a line may be empty or begin with `#`."""
    faults = []
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        name = line.strip()
        if name and not name.startswith("#"):
            if is_node_name(name):
                yield name
            else:
                faults.append(Fault(file=str(file), line=number, field="", problem="is not the name of a node"))
    if faults:
        raise InvalidInput(tuple(faults), hint="write one name on each line")


def _optional(file: Path) -> str:
    """Return the text of a file that the collecting script writes; empty without it."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _placed(fault: Fault, file: Path) -> Fault:
    """Return a fault with the path of its file, and the line where the parser names one."""
    line = _LINE.search(fault.problem)
    number = int(line[1]) if line else fault.line
    return Fault(file=str(file), line=number, field=fault.field, problem=fault.problem, hint=fault.hint)
