from __future__ import annotations

from pathlib import Path

import pytest

from tools.measures import HEADER, Function, measure, percentile, row, table

SOURCE = '''"""A module."""
# A comment.


def public(first: int, *, second: str = "") -> bool:
    """Documented."""
    return bool(first and second or not first)  # another comment


class Public:
    def method(self, untyped) -> None:
        for each in [one for one in untyped if one]:
            if each:
                continue


def _private(*rest: int) -> None:
    def inner():
        while True:
            pass
'''


def test_a_module_is_measured() -> None:
    module = measure(SOURCE)

    assert (module.lines, module.comments) == (20, 2)
    # The module and the function have one, the class and its method have none.
    assert (module.public, module.documented) == (4, 2)
    assert sorted(module.functions, key=lambda each: (each.lines, each.complexity)) == [
        Function(lines=3, complexity=2, parameters=0, typed=False),
        Function(lines=3, complexity=3, parameters=2, typed=True),
        Function(lines=4, complexity=1, parameters=1, typed=True),
        Function(lines=4, complexity=5, parameters=1, typed=False),
    ]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 50, 0), ([7], 90, 7), ([1, 2, 3, 4], 50, 2), (range(1, 11), 90, 9), (range(1, 12), 90, 10)],
)
def test_a_percentile_is_one_of_the_values(values: list[int], share: int, expected: int) -> None:
    assert percentile(values, share) == expected


def test_a_row_has_a_cell_for_each_column() -> None:
    cells = row("all", [measure(SOURCE)], test_lines=30)

    assert cells.count("|") == HEADER.splitlines()[0].count("|")
    assert cells == "| all | 1 | 20 | 20/20/20 | 3/4/4 | 0 | 5/5, 0.0 % | 2/2 | 50.0 % | 50.0 % | 10.0 % | 1.50 |"


def test_the_table_has_the_whole_and_each_district(tmp_path: Path) -> None:
    for path in (
        "envbuilder/__init__.py",
        "envbuilder/core/text.py",
        "envbuilder/cli/output/table.py",
        "tests/test_x.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(SOURCE, encoding="utf-8")

    rows = list(table(tmp_path))[1:]

    assert [line.split(" | ")[:3] for line in rows] == [
        ["| **envbuilder**", "3", "60"],
        ["| cli", "1", "20"],
        ["| core", "1", "20"],
    ]
    assert rows[0].endswith("| 0.33 |")
