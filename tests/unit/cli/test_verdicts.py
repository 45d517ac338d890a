"""The documents of the commands have the verdict of the one judge."""

from __future__ import annotations

import json

import pytest

from envbuilder.catalog.compatibility import judge
from tests.fakes.catalogs import real_catalog, real_row
from tests.fakes.hosts import FakeGpu, host_document
from tests.repo.test_one_judge import MACHINES, TABLES, machine_of, name_of
from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize("machine", MACHINES[:: len(MACHINES) // 6], ids=name_of)
def test_the_documents_of_the_commands_have_that_verdict(machine: tuple[str, FakeGpu], envbuilder: CommandLine) -> None:
    driver, gpu = machine
    host = machine_of(driver, gpu)
    file = str(envbuilder.write("host.json", host_document(driver, [gpu])))

    listed = json.loads(envbuilder("list", "--fits", file, "--json").stdout)["environments"]
    examined = json.loads(envbuilder("doctor", file, "--json").stdout)["environments"]
    advised = json.loads(envbuilder("advise", "--host", file, "--limit", "999", "--json").stdout)

    assert listed == examined
    assert len(listed) == len(real_catalog().environments)
    for each in (*listed, *advised["fits"], *advised["nearest"]):
        row = real_row(each["environment"])
        choice = next(choice for choice in row.bases if choice.system.id == each["base"])
        assert each["fit"] == judge(TABLES, row, choice, host).fit.value
