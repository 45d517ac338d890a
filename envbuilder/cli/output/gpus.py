"""Output of `envbuilder list --gpus`: support of each GPU by each row, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from envbuilder.catalog.coverage import GpuSupport, support
from envbuilder.catalog.environments import BaseChoice, Catalog, Environment
from envbuilder.cli.documents import gpus as documents
from envbuilder.cli.output.printing import aligned, columns_or, folded, heading, meaning, printed
from envbuilder.cli.output.terminal import Meaning
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.report.gpu_marks import BASIS, LEGEND, driver, generations, mark, ptx_drivers

WIDTH = 120
_GAP = "  "
_MEANINGS = {"code": Meaning.GOOD, "jit": Meaning.NEUTRAL, "-": Meaning.BAD, "?": Meaning.DOUBTFUL}


def gpu_table(catalog: Catalog, rows: Sequence[Environment]) -> str:
    """Return the support of GPUs, as text of at most 120 columns, or those of a narrower terminal.

    One GPU row alone is shown in full, several as one line each.

    Returns:
        The text, without a final line end.
    """
    shown = [row for row in rows if row.cuda]
    lines = [
        *(_in_full(catalog, shown[0]) if len(rows) == 1 and shown else _together(catalog, shown)),
        *_left_out(rows),
    ]
    room = min(WIDTH, columns_or(WIDTH))
    return "\n".join(line and folded(line, room) if printed(line) > room else line for line in lines)


def gpu_document(catalog: Catalog, rows: Sequence[Environment]) -> dict[str, Any]:
    """Return the support of GPUs as a JSON document: each base with every GPU, in full."""
    return document_of(
        documents.GpuTable,
        None,
        gpus=[
            document_of(documents.Architecture, each, names=each.gpus, first_cuda=each.since, last_cuda=each.last)
            for each in catalog.cuda.architectures
        ],
        environments=[
            {"id": row.id, "bases": [_base(catalog, row, choice) for choice in row.bases]} for row in rows if row.cuda
        ],
        left_out=[row.id for row in rows if not row.cuda],
    )


def _base(catalog: Catalog, row: Environment, choice: BaseChoice) -> dict[str, Any]:
    return document_of(
        documents.SupportOnBase,
        choice,
        id=choice.system.id,
        driver=catalog.driver_floor(row, choice),
        gpus=map(_support_document, support(catalog.cuda, row, choice)),
    )


def _support_document(gpu: GpuSupport) -> dict[str, Any]:
    return document_of(
        documents.Support,
        gpu,
        capability=gpu.architecture.capability,
        outcome=gpu.coverage,
        doubtful=bool(gpu.doubts),
        reasons=[
            document_of(documents.PartOfSupport, each, outcome=each.coverage or "not-proven") for each in gpu.reasons
        ],
    )


def _left_out(rows: Sequence[Environment]) -> Iterator[str]:
    cpu = [row.id for row in rows if not row.cuda]
    if cpu:
        yield f"Without GPU support: {', '.join(cpu)}"


def _together(catalog: Catalog, rows: Sequence[Environment]) -> Iterator[str]:
    if not rows:
        return
    supports = [support(catalog.cuda, row, row.bases[0]) for row in rows]
    yield from _parts(rows, supports)
    yield ""
    for sign, words in LEGEND:
        yield f"  {_padded(sign, 4)}  {words}"
    yield from _compilers(catalog, rows, supports)
    yield ""
    yield f"{BASIS} For the reasons and other bases: `envbuilder list ENV --gpus`."


def _parts(rows: Sequence[Environment], supports: Sequence[tuple[GpuSupport, ...]]) -> Iterator[str]:
    """Yield the table, in several parts of fewer generations if the terminal is too narrow for it."""
    above, header, *body = _columns(rows, supports)
    names = tuple(generations(supports[0]))
    if len(names) == 1 or max(map(printed, body)) <= columns_or(WIDTH):
        yield from (heading(above), heading(header), *body)
        return
    count = sum(count for _, count in names[: len(names) // 2])
    yield from _parts(rows, [gpus[:count] for gpus in supports])
    yield ""
    yield from _parts(rows, [gpus[count:] for gpus in supports])


def _columns(rows: Sequence[Environment], supports: Sequence[tuple[GpuSupport, ...]]) -> Iterator[str]:
    """Yield the table: a line of generations, a line of compute capabilities, a line for each row."""
    lines = [
        [str(gpu.architecture.capability) for gpu in supports[0]],
        *([mark(gpu) for gpu in gpus] for gpus in supports),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    names, counts = zip(*generations(supports[0]), strict=True)
    grouped = [_grouped(line, widths, counts) for line in lines]
    firsts = ("ENVIRONMENT", *(row.id for row in rows))
    yield from aligned([["", *names], *([first, *line] for first, line in zip(firsts, grouped, strict=True))])


def _grouped(cells: Sequence[str], widths: Sequence[int], counts: Sequence[int]) -> list[str]:
    """Return the cells of each generation, side by side."""
    left = iter(zip(cells, widths, strict=True))
    return [" ".join(_padded(cell, width) for cell, width in islice(left, count)) for count in counts]


def _padded(cell: str, width: int) -> str:
    return meaning(cell, Meaning.DOUBTFUL if cell.endswith("?") else _MEANINGS.get(cell)) + " " * (width - len(cell))


def _compilers(
    catalog: Catalog, rows: Sequence[Environment], supports: Sequence[tuple[GpuSupport, ...]]
) -> Iterator[str]:
    floors = [catalog.driver_floor(row, row.bases[0]) for row in rows]
    wanted = {
        row.id: drivers
        for row, gpus, floor in zip(rows, supports, floors, strict=True)
        if floor and (drivers := ptx_drivers(gpus, floor))
    }
    if wanted:
        yield ""
        yield "Compiling may need a newer driver than the libraries do:"
        width = max(map(len, wanted))
        yield from (f"  {name:<{width}}{_GAP}{drivers}" for name, drivers in wanted.items())


def _in_full(catalog: Catalog, row: Environment) -> Iterator[str]:
    yield f"{heading(row.id)}  {row.summary}"
    first = support(catalog.cuda, row, row.bases[0])
    for choice in row.bases:
        yield ""
        floor = catalog.driver_floor(row, choice)
        yield f"{heading(choice.system.id)}  CUDA {choice.cuda}, cuDNN {choice.cudnn}, driver {floor} or later"
        here = support(catalog.cuda, row, choice)
        changed = [
            gpu for gpu, before in zip(here, first, strict=True) if choice is row.bases[0] or _differs(gpu, before)
        ]
        for gpu in changed:
            yield from _gpu(gpu)
        if len(changed) < len(here):
            yield f"  {'everything' if not changed else 'everything else'} as on {row.bases[0].system.id}"
    yield ""
    yield "Derived from the GPU code in the files, not from runs on these GPUs."


def _differs(one: GpuSupport, other: GpuSupport) -> bool:
    return (mark(one), one.driver) != (mark(other), other.driver)


def _gpu(gpu: GpuSupport) -> Iterator[str]:
    architecture = gpu.architecture
    names = f"{architecture.generation}: {', '.join(architecture.gpus)}"
    needs = driver(gpu)
    yield f"  {architecture.capability!s:<4}  {mark(gpu):<5}  {f'{needs}, ' if needs else ''}{names}"
    yield f"        {gpu.description}"
