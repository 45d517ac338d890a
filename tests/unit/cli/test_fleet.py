"""`fleet probe` and `fleet check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.catalogs import DATA
from tests.unit.cli.running import CommandLine
from tests.unit.cluster.fleet.fleets import NEW_A100, OLD_A100, TF_2_15, write_nodes


def test_a_fleet_that_runs_everything_ends_with_0(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100, "a2": NEW_A100})
    ended = envbuilder("fleet", "check", "facts", "--environment", TF_2_15)

    assert ended.status == 0
    assert "PASSED: 2 of 2 nodes run tf-2.15-cuda12.2" in ended.stdout
    assert "--constraint=(cc80&driver550.54.15)" in ended.stdout


def test_a_node_that_does_not_run_an_image_ends_with_1_and_the_reports_are_written(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100, "b1": OLD_A100})
    ended = envbuilder(
        "fleet", "check", "facts", "--environment", TF_2_15, "-o", "r.html", "-o", "r.json", "-o", "r.xml", "-o", "r.md"
    )

    assert ended.status == 1
    assert "update the driver of 1 node from 470.57.02 to 525.60.13 or later" in ended.stdout
    assert all((envbuilder.folder / f"r.{suffix}").stat().st_size for suffix in ("html", "json", "xml", "md"))


def test_json_is_one_document_and_many_environments_have_no_constraints(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100})
    ended = envbuilder("fleet", "check", "facts", "--environment", "tf-2.1*", "--json")
    document = json.loads(ended.stdout)

    assert len(document["images"]) > 8
    assert document["constraints"] == []
    assert "constraints for schedulers are left out" in ended.stderr


def test_only_named_nodes_are_expected(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100, "b1": OLD_A100})

    assert envbuilder("fleet", "check", "facts", "--environment", TF_2_15, "--nodes", "a[1-1]").status == 0
    silent = envbuilder("fleet", "check", "facts", "--environment", TF_2_15, "--nodes", "a[1-2]")
    assert silent.status == 1
    assert "1 node: silent" in silent.stdout


def test_changes_since_an_earlier_collection_are_shown(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "old", {"a1": OLD_A100})
    write_nodes(envbuilder.folder / "new", {"a1": NEW_A100})
    ended = envbuilder("fleet", "check", "new", "--environment", TF_2_15, "--since", "old")

    assert "driver: 470.57.02 → 550.54.15 (1 node)" in ended.stdout


def test_without_an_image_nothing_can_be_judged(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100})
    ended = envbuilder("fleet", "check", "facts")

    assert ended.status == 2
    assert "no image to judge" in ended.stderr


def test_the_name_of_an_environment_is_no_lock(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100})
    ended = envbuilder("fleet", "check", "facts", "--lock", TF_2_15)

    assert ended.status == 2
    assert f"--environment {TF_2_15}" in ended.stderr


def test_a_lock_is_judged_by_its_file(envbuilder: CommandLine) -> None:
    write_nodes(envbuilder.folder / "facts", {"a1": NEW_A100})
    (envbuilder.folder / "team.lock").write_bytes((DATA / "good.lock").read_bytes())
    ended = envbuilder("fleet", "check", "facts", "--lock", "team.lock")

    assert ended.status == 0
    assert "team.lock" in ended.stdout


def test_the_schema_is_printed(envbuilder: CommandLine) -> None:
    printed = json.loads(envbuilder("schema", "fleet", "check").stdout)
    assert printed["title"] == "Report of envbuilder fleet check"


def test_a_script_is_written_and_not_run(envbuilder: CommandLine) -> None:
    ended = envbuilder("fleet", "probe", "--on", "ssh", "--nodes", "n[1-2]", "--directory", "out", "-o", "probe.sh")

    assert ended.status == 0
    assert "next: `bash probe.sh`, then `envbuilder fleet check out --lock LOCK`" in ended.stdout
    assert "NODES='n1 n2'" in (envbuilder.folder / "probe.sh").read_text(encoding="utf-8")
    assert not Path(envbuilder.folder, "out").exists()


def test_names_that_a_shell_would_run_are_refused(envbuilder: CommandLine) -> None:
    ended = envbuilder("fleet", "probe", "--on", "ssh", "--nodes", "n1;reboot")

    assert ended.status == 2
    assert "not a list of node names" in ended.stderr
