"""`--on`: what is refused before anything runs, the command line that is sent, and what is printed."""

from __future__ import annotations

import json
import shutil

import click
import pytest

from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import find
from envbuilder.cli.build import command as build_command
from envbuilder.cli.fan_out import FanOutCommand, sent_arguments
from envbuilder.cli.output.fan_out import AuditOutput, BuildOutput, ProofOutput, ReportOutputs, outcome_line
from envbuilder.cli.validate import command as validate_command
from envbuilder.cluster.execution.executor import FailedItem, Lost
from envbuilder.curation.prove import prove, recorded_proof
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from tests.command_tree import root_context
from tests.fakes.catalogs import DATA, small_row
from tests.fakes.executors import done
from tests.fakes.proving import world
from tests.unit.cli.running import CommandLine

ROW = small_row("tf-2.15-cpu")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("build", "tf-2.15-cpu", "--on", "local", "-o", "out.tar"), "--output cannot be combined with --on"),
        (("build", "tf-2.15-cpu", "--on", "local", "--attestations"), "--attestations cannot be combined with --on"),
        (("build", "tf-2.15-cpu", "--on", "slurm"), "the images would stay on the machines of the cluster"),
        (("build", "tf-2.1[56]-cpu", "--on", "local", "-t", "a:1"), "several images cannot have the same name"),
        (("build", "tf-2.15-cpu", "--on", "nowhere"), "is not local"),
        (("validate", "--on", "local"), "nothing to validate"),
        (("validate", "a", "--on", "local", "--junit", "a.xml"), "--junit cannot be combined with --on"),
        (("validate", "a", "--on", "local", "--lock", "none.lock"), "lock not found: none.lock"),
        (("validate", "a", "b"), "several images require --on"),
        (("catalog", "audit", "tensorflow==2.15.0", "--on", "local"), "--on requires environments"),
        (("catalog", "prove", "--tier", "archive", "--on", "local"), "--tier archive cannot be combined with --on"),
    ],
)
def test_what_cannot_run_elsewhere_is_refused(
    envbuilder: CommandLine, arguments: tuple[str, ...], problem: str
) -> None:
    ended = envbuilder(*arguments)
    assert ended.status == 2
    assert problem in " ".join(ended.stderr.split())


def test_the_command_line_is_sent_with_another_name(envbuilder: CommandLine) -> None:
    given = ["tf-2.1*-cpu", "--on", "local", "--push", "-t", "h:1/{name}:1", "--tag=h:1/{name}:2", "--jobs", "2"]
    given += ["--no-cache", "--json", "--again", "--debian-keyring", "keys.gpg"]
    envbuilder.write("keys.gpg", "")
    root = root_context()
    with build_command.make_context("build", given, parent=root):
        assert sent_arguments("tf-2.15-cpu") == (
            "build",
            "--json",
            "--tag=h:1/{name}:1",
            "--tag=h:1/{name}:2",
            "--push",
            "--no-cache",
            "--jobs=2",
            f"--debian-keyring={envbuilder.folder / 'keys.gpg'}",
            "--",
            "tf-2.15-cpu",
        )


def test_places_and_locks_are_sent_as_absolute_paths(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "own").mkdir()
    envbuilder.write("own/envbuilder.lock", "")
    here = envbuilder.folder
    root = root_context()
    given = ["x.sif", "--on", "local", "--runtime", "apptainer"]
    with validate_command.make_context("validate", [*given, "--lock", "own"], parent=root):
        assert sent_arguments(f"{here}/x.sif")[2:4] == ("--runtime=apptainer", f"--lock={here}/own/envbuilder.lock")
    with validate_command.make_context("validate", [*given, "--lock", "tf-2.15-cpu"], parent=root):
        assert "--lock=tf-2.15-cpu" in sent_arguments("x")
    given = ["a", "--on", "local", "--publisher", "nvidia=archives", "--publisher", "*=https://mirror.example/a"]
    with build_command.make_context("build", given, parent=root):
        sent = sent_arguments("a")
    assert sent[2:4] == (f"--publisher=nvidia={here}/archives", "--publisher=*=https://mirror.example/a")


def test_a_validation_elsewhere_uses_the_runtime_and_the_lock_of_the_call(envbuilder: CommandLine) -> None:
    """The command runs in a process of its own, whose error comes back."""
    envbuilder.write("image.sif", "no image")
    envbuilder.set("PATH", str(envbuilder.folder / "empty"))
    ended = envbuilder("validate", "image.sif", "--runtime", "apptainer", "--on", "local", "--json")
    assert ended.status == 11, ended.stderr
    [missing] = json.loads(ended.stdout)["missing"]
    assert missing["name"] == str(envbuilder.folder / "image.sif")
    assert "apptainer" in missing["reason"]


def test_every_option_is_sent_as_it_is_read(envbuilder: CommandLine) -> None:
    @click.command(cls=FanOutCommand)
    @click.argument("name")
    @click.option("-s")
    @click.option("--many", multiple=True)
    @click.option("--left-out")
    @click.option("--flag", is_flag=True)
    @click.option("--file", type=click.Path(allow_dash=True))
    def command(**_: object) -> None: ...

    root = root_context()
    given = ["a", "-s", "-1", "--many=", "--many", "x y", "--left-out", "z", "--file", "-", "--flag"]
    with command.make_context("group", given, parent=root) as context:
        before = dict(context.params)
        sent = sent_arguments("a", left_out=("left_out",), always=())
    with command.make_context("group", list(sent[1:]), parent=root) as context:
        assert context.params == before | {"left_out": None}


def test_evidence_that_is_valid_is_not_sent_again(envbuilder: CommandLine) -> None:
    folder = shutil.copytree(DATA / "catalog", envbuilder.folder / "matrices")
    shipped = ClosureFolder(folder=folder / "locks")
    assert recorded_proof(ROW, Grade.CPU, shipped) is None
    proven = prove(ROW, Grade.CPU, world(folder).ports())
    row = find(load_catalog(folder), ROW.id)
    assert recorded_proof(row, Grade.IMAGE, shipped) is None
    found = recorded_proof(row, Grade.CPU, shipped)
    assert found is not None
    assert (found.row, found.reached, found.again) == (proven.row, Grade.CPU, False)
    envbuilder.set("ENVBUILDER_MATRICES", str(folder))
    # With a cluster that does not exist: nothing is sent.
    ended = envbuilder("catalog", "prove", ROW.id, "--on", "dask://127.0.0.1:1", "--json")
    assert ended.status == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert [each["id"] for each in document["environments"]] == [ROW.id]
    assert document["missing"] == []
    (folder / "locks" / f"{ROW.id}.yaml").unlink()
    assert recorded_proof(row, Grade.CPU, shipped) is None


def test_each_outcome_is_one_line() -> None:
    output = AuditOutput()
    assert outcome_line(done("a"), output) == "a: agrees with its wheel (1.5 s on n1)"
    failed = FailedItem(name="a", status=5, reason="no answer", node="n2")
    assert outcome_line(failed, output) == "a: failed with status 5 on n2: no answer"
    assert outcome_line(Lost(name="a", reason="killed"), output) == "a: lost: killed"


def test_documents_of_proofs_are_told_and_merged() -> None:
    proven = {"id": "a", "proven": True, "evidence": [{"grade": "cpu", "what": "imported"}], "unproven": []}
    open_row = {"id": "b", "proven": False, "evidence": [], "unproven": [{"grade": "cpu", "why": "loss rose"}]}
    documents = [{"schema": 1, "tier": "cpu", "environments": [each]} for each in (proven, open_row)]
    output = ProofOutput()
    assert [output.line(each) for each in documents] == ["cpu: imported", "not proven: loss rose"]
    assert output.merged(documents) == {"schema": 1, "tier": "cpu", "environments": [proven, open_row]}


def test_documents_of_audits_are_told_and_merged() -> None:
    differing = {"row": "a", "differences": [{"field": "glibc"}, {"field": "avx"}]}
    documents: list[dict[str, object]] = [{"wheels": [differing]}, {"wheels": [{}]}]
    assert AuditOutput().line(documents[0]) == "differs from its wheel: glibc, avx"
    assert AuditOutput().merged(documents)["wheels"] == [differing, {}]


def test_reports_are_told_and_merged() -> None:
    failed = {"passed": False, "results": [{"id": "x", "outcome": "failed"}, {"id": "y", "outcome": "passed"}]}
    unproven = {"passed": False, "results": [{"id": "x", "outcome": "not-proven"}]}
    output = ReportOutputs()
    told = [output.line(each) for each in ({"passed": True}, failed, unproven)]
    assert told == ["passed", "failed: x", "failed: a required check is not proven"]
    merged = output.merged([{"passed": True}, failed])
    assert (merged["passed"], merged["reports"]) == (False, [{"passed": True}, failed])


def test_builds_share_layers_in_the_merged_document() -> None:
    def built(name: str, digests: str, downloaded: int | None) -> dict[str, object]:
        layers = [{"digest": each, "size": 10} for each in digests]
        image = {"manifest": f"sha256:{name}", "size": 2048, "layers": layers, "pushed": [{"reference": f"h/{name}"}]}
        return {"engine": "assemble", "images": [image], "seconds": 1.5, "steps": [], "downloaded_bytes": downloaded}

    output = BuildOutput()
    one, two = built("a", "xy", 5), built("b", "yz", 6)
    assert output.line(one) == "2 KiB, sha256:a, pushed h/a"
    merged = output.merged([one, two])
    assert (merged["distinct_bytes"], merged["downloaded_bytes"], merged["seconds"]) == (30, 11, 3.0)
    assert output.merged([one, built("b", "y", None)])["downloaded_bytes"] is None


def test_an_empty_answer_is_no_result() -> None:
    assert ProofOutput().line({}) == "no result"
    assert ProofOutput().merged([])["environments"] == []
