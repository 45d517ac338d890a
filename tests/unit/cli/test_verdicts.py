"""The documents of the commands have the verdict of the one judge."""

from __future__ import annotations

import json

import pytest

from envbuilder.catalog.compatibility import judge, judge_environment
from tests.fakes.catalogs import real_catalog
from tests.fakes.hosts import FakeGpu, host_document
from tests.repo.test_one_judge import MACHINES, TABLES, machine_of, name_of
from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize("machine", MACHINES[:: len(MACHINES) // 6], ids=name_of)
def test_the_documents_of_the_commands_have_that_verdict(machine: tuple[str, FakeGpu], envbuilder: CommandLine) -> None:
    driver, gpu = machine
    file = str(envbuilder.write("host.json", host_document(driver, [gpu])))
    best = {row.id: judge_environment(TABLES, row, machine_of(driver, gpu)) for row in real_catalog().environments}

    listed = json.loads(envbuilder("list", "--fits", file, "--json").stdout)["environments"]
    examined = json.loads(envbuilder("doctor", file, "--json").stdout)["environments"]
    advised = json.loads(envbuilder("advise", "--host", file, "--limit", "999", "--json").stdout)

    assert listed == examined
    fits = {each["environment"]: each["fit"] for each in listed}
    assert fits == {name: verdict.fit.value for name, verdict in best.items()}
    for each in (*advised["fits"], *advised["nearest"]):
        row = next(row for row in real_catalog().environments if row.id == each["environment"])
        choice = next(choice for choice in row.bases if choice.system.id == each["base"])
        assert each["fit"] == judge(TABLES, row, choice, machine_of(driver, gpu)).fit.value
