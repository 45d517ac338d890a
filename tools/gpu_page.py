"""Write `docs/gpus.md` from the matrices: `python -m tools.gpu_page`.

The page shows the support of each GPU by each environment, with the reasons as footnotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envbuilder.catalog.coverage import GpuSupport, support
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.diagnostics.report.gpu_marks import BASIS, LEGEND, driver, generations, mark, ptx_drivers

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs" / "gpus.md"


@dataclass(slots=True)
class _Footnotes:
    """Reasons in the order of their first use, each once."""

    texts: dict[str, int] = field(default_factory=dict)

    def cell(self, gpu: GpuSupport) -> str:
        """Return the mark of a GPU, with its footnote unless the GPU is fully supported."""
        if gpu.coverage is Coverage.MACHINE_CODE and not gpu.doubts:
            return mark(gpu)
        needs = f"; {driver(gpu)}" if gpu.coverage is Coverage.JIT else ""
        return f"{mark(gpu)}[^{self.texts.setdefault(f'{gpu.description}{needs}', len(self.texts) + 1)}]"

    def lines(self) -> Iterator[str]:
        """Yield the text of the footnotes."""
        for text, number in self.texts.items():
            yield f"[^{number}]: {text}."


def coverage_page(catalog: Catalog) -> str:
    """Return the page as Markdown, with a final line end; the same catalog gives the same page."""
    rows = [row for row in catalog.environments if row.cuda]
    notes = _Footnotes()
    lines = [
        "# GPU support",
        "",
        "The GPUs that each GPU environment supports. `envbuilder list --gpus` prints the same table,",
        "`envbuilder list ENV --gpus` one environment in full; both have `--json`.",
        "",
        BASIS,
        "This page is written by `make matrices` from `matrices/`; do not edit it.",
        "",
        *(f"- `{sign}`: {meaning}" for sign, meaning in LEGEND),
        "",
        *_first_bases(catalog, rows, notes),
        *_other_bases(catalog, rows, notes),
        *_drivers(catalog, rows),
        *_gpus(catalog),
        *_left_out(catalog),
        *notes.lines(),
    ]
    return "\n".join(lines) + "\n"


def _first_bases(catalog: Catalog, rows: Sequence[Environment], notes: _Footnotes) -> Iterator[str]:
    if not rows:
        return
    yield from _header(catalog, rows, ("Environment",))
    for row in rows:
        yield _line([row.id, *(notes.cell(gpu) for gpu in support(catalog.cuda, row, row.bases[0]))])
    yield ""


def _other_bases(catalog: Catalog, rows: Sequence[Environment], notes: _Footnotes) -> Iterator[str]:
    """Yield the bases with different support for some GPU."""
    others = []
    for row in rows:
        first = support(catalog.cuda, row, row.bases[0])
        for choice in row.bases[1:]:
            here = support(catalog.cuda, row, choice)
            if [mark(gpu) for gpu in here] != [mark(gpu) for gpu in first]:
                others.append((row, choice, here))
    if not others:
        return
    yield "## Other bases, where they differ"
    yield ""
    yield from _header(catalog, rows, ("Environment", "Base"))
    for row, choice, here in others:
        yield _line([row.id, choice.system.id, *(notes.cell(gpu) for gpu in here)])
    yield ""


def _header(catalog: Catalog, rows: Sequence[Environment], names: tuple[str, ...]) -> Iterator[str]:
    first = support(catalog.cuda, rows[0], rows[0].bases[0])
    named = [name for name, count in generations(first) for _ in range(count)]
    columns = [f"{name} {gpu.architecture.capability}" for name, gpu in zip(named, first, strict=True)]
    yield _line([*names, *columns])
    yield _line(["---"] * (len(names) + len(columns)))


def _drivers(catalog: Catalog, rows: Sequence[Environment]) -> Iterator[str]:
    floors = [(row, catalog.driver_floor(row, row.bases[0])) for row in rows]
    wanted = [
        (row.id, drivers)
        for row, floor in floors
        if floor and (drivers := ptx_drivers(support(catalog.cuda, row, row.bases[0]), floor))
    ]
    if not wanted:
        return
    yield "## Drivers"
    yield ""
    yield "For GPUs of these compute capabilities, the driver compiles kernels, and must be newer than the libraries"
    yield "require:"
    yield ""
    yield _line(["Environment", "Compute capability: oldest driver"])
    yield _line(["---", "---"])
    yield from (_line([name, drivers]) for name, drivers in wanted)
    yield ""


def _gpus(catalog: Catalog) -> Iterator[str]:
    yield "## GPUs"
    yield ""
    yield _line(["Compute capability", "Generation", "GPUs", "First CUDA", "Last CUDA"])
    yield _line(["---"] * 5)
    for each in catalog.cuda.architectures:
        last = str(each.last) if each.last else "-"
        yield _line([str(each.capability), each.generation, ", ".join(each.gpus), str(each.since), last])
    yield ""


def _left_out(catalog: Catalog) -> Iterator[str]:
    cpu = [row.id for row in catalog.environments if not row.cuda]
    if cpu:
        yield f"Without GPU support: {', '.join(cpu)}."
        yield ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(coverage_page(load_catalog(_ROOT / "matrices")), encoding="utf-8")
