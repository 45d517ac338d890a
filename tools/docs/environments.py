"""Pages about the environments of the catalog: one each, and an index by release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from envbuilder.catalog.coverage import GpuSupport, support
from envbuilder.catalog.cuda import Coverage, Linkage
from envbuilder.catalog.environments import BaseChoice, BaseSystem, Catalog, Constraint, Environment
from envbuilder.catalog.sources import Advisory
from envbuilder.diagnostics.report.gpu_marks import BASIS, LEGEND, driver, mark
from tools.docs.markdown import NONE, code, console, plain, section, table

FOLDER = "environments"
_ORDER = ("code", "code?", "jit", "jit?", "-", "-?")
"""Marks of support, the best first."""
_GRADES = {
    "documented": "a document says that it works",
    "measured": "its wheel was taken apart",
    "resolved": "its packages resolve without a conflict",
    "cpu": "it trained a model on a processor",
    "image-with-stand-ins": "an image trained a model, with stand-ins for some libraries",
    "image": "an image trained a model on a processor, and all libraries opened",
    "gpu": "an image computed on a GPU",
}
"""Meaning of each grade of evidence."""


def environment_pages(catalog: Catalog) -> Mapping[str, str]:
    """Return the pages by their paths in the site: the index, then each environment, newest release first."""
    newest_first = tuple(sorted(catalog.environments, key=lambda row: row.framework.version, reverse=True))
    return {f"{FOLDER}/index.md": _page(_index(catalog, newest_first))} | {
        f"{FOLDER}/{row.id}.md": _page(_environment(catalog, row)) for row in newest_first
    }


def linked(page: str) -> str:
    """Return a page of the top level with links from the first cells of its tables to the pages of environments."""
    return re.sub(r"^\| (tf-[\w.-]+) \|", rf"| [\1]({FOLDER}/\1.md) |", page, flags=re.MULTILINE)


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _index(catalog: Catalog, rows: tuple[Environment, ...]) -> Iterator[str]:
    yield "# Environments"
    yield ""
    yield f"The catalog has {len(rows)} environments: with and without GPU for each release of TensorFlow. CUDA, cuDNN"
    yield "and driver are those of the preferred base. [GPU support](../gpus.md) compares them by GPU, and"
    yield "[`envbuilder advise`](../advise.md) recommends one for your machine and your versions. The compute"
    yield "capabilities are those with machine code, from the oldest to the newest."
    yield ""
    yield "The last column is the strongest evidence that the environment works:"
    yield ""
    yield from (f"- *{grade}*: {meaning}" for grade, meaning in _GRADES.items())
    yield ""
    for major, group in groupby(rows, key=lambda row: row.framework.version.major):
        yield f"## TensorFlow {major}"
        yield ""
        header = (
            "Environment",
            "TensorFlow",
            "Python",
            "CUDA",
            "cuDNN",
            "Driver",
            "GPUs with machine code",
            "Evidence",
        )
        yield from table(header, (_index_cells(catalog, row) for row in group))


def _index_cells(catalog: Catalog, row: Environment) -> tuple[str, ...]:
    base = row.bases[0]
    return (
        f"[{row.id}]({row.id}.md)",
        str(row.framework.version),
        str(base.python),
        *(
            (str(base.cuda), str(base.cudnn), str(catalog.driver_floor(row, base)), _range(catalog, row))
            if row.cuda
            else [NONE] * 4
        ),
        row.proven.value,
    )


def _range(catalog: Catalog, row: Environment) -> str:
    """Return the oldest and the newest compute capability with machine code, as `3.5 to 8.9`."""
    gpus = support(catalog.cuda, row, row.bases[0])
    able = [gpu.architecture.capability for gpu in gpus if gpu.coverage is Coverage.MACHINE_CODE and not gpu.doubts]
    return f"{able[0]} to {able[-1]}" if able else "none"


def _by_mark(catalog: Catalog, row: Environment) -> str:
    """Return the compute capabilities by their support, the best first."""
    found: dict[str, list[str]] = {}
    for gpu in support(catalog.cuda, row, row.bases[0]):
        found.setdefault(mark(gpu), []).append(str(gpu.architecture.capability))
    return "; ".join(f"{code(sign)} {', '.join(found[sign])}" for sign in sorted(found, key=_ORDER.index))


def _environment(catalog: Catalog, row: Environment) -> Iterator[str]:
    yield f"# {row.id}"
    yield ""
    yield f"{plain(row.summary)}. [All environments](index.md)"
    yield ""
    yield from table(("", ""), _summary(catalog, row))
    yield from section("Get it", _use(row))
    yield from section("GPUs and drivers", _gpus(catalog, row))
    yield from section("Known traps", _traps(row))
    yield from section("Packages", _packages(row))
    yield from section("Bases", _bases(catalog, row))
    yield from section("Evidence", _evidence(row))
    yield from section("Other releases", _others(row))
    yield from section("Sources", (f"- {plain(each.text)}" for each in (*row.framework.sources, *row.sources)))


def _summary(catalog: Catalog, row: Environment) -> Iterator[tuple[str, str]]:
    base, wheel = row.bases[0], row.framework
    yield "TensorFlow", code(f"{wheel.package}=={wheel.version}")
    yield "Python", f"{base.python}; wheels for {', '.join(map(str, wheel.pythons))}"
    if row.cuda:
        yield "CUDA", f"{base.cuda} in the image; TensorFlow was compiled with {row.cuda.compiled}"
        yield (
            "cuDNN",
            f"{base.cudnn} in the image; TensorFlow takes {row.cuda.cudnn.rule.describe(row.cuda.cudnn.compiled)}",
        )
        yield "Driver", f"{catalog.driver_floor(row, base)} or later"
        yield "Compute capabilities", _by_mark(catalog, row)
    yield "Processor", "with AVX" if wheel.needs_avx else "any x86-64"
    yield "System libraries", f"glibc {wheel.glibc} and GLIBCXX {wheel.glibcxx}, or later"
    yield "Packages", f"the newest compatible ones of {row.cutoff}"
    yield "Evidence", f"*{row.proven.value}*: {_GRADES[row.proven.value]}"


def _use(row: Environment) -> Iterator[str]:
    yield from console(
        f"envbuilder build {row.id}{row.bases[0].build_options}",
        f"envbuilder validate {row.id}",
        f"envbuilder run --mount . {row.id} -- python train.py",
    )
    yield "For a team, with packages of your own ([envbuilder.yaml](../spec.md)):"
    yield ""
    yield from console(f"envbuilder init {row.id}", "envbuilder lock", "envbuilder build")
    yield f"[`envbuilder show {row.id}`](../commands/show.md) prints the same, and what this machine can build."
    yield ""


def _gpus(catalog: Catalog, row: Environment) -> Iterator[str]:
    if row.cuda is None:
        return
    when = (
        "are loaded with TensorFlow: without them its import fails"
        if row.cuda.linkage is Linkage.NEEDED
        else "are opened at run time: without them TensorFlow computes on the processor"
    )
    yield BASIS
    yield ""
    cells = (_gpu_cells(gpu) for gpu in support(catalog.cuda, row, row.bases[0]))
    yield from table(("Compute capability", "Generation", "GPUs", "Support", "Driver", "Reasons"), cells)
    yield from (f"- `{sign}` {meaning}" for sign, meaning in LEGEND)
    yield ""
    yield f"The CUDA libraries {when}: {', '.join(map(code, row.cuda.sonames))}."
    yield ""


def _gpu_cells(gpu: GpuSupport) -> tuple[str, ...]:
    of = gpu.architecture
    least = driver(gpu).removeprefix("driver ") or NONE
    return str(of.capability), of.generation, plain(", ".join(of.gpus)), code(mark(gpu)), least, plain(gpu.description)


def _traps(row: Environment) -> Iterator[str]:
    for each in row.advisories:
        yield from _trap(each)


def _trap(each: Advisory) -> Iterator[str]:
    yield f"### {plain(each.title)} {{ #{each.id.replace('.', '-')} }}"
    yield ""
    yield f"{_sentence(each.reason)} Remedy: {_sentence(each.remedy, capital=False)}"
    yield ""
    yield f"*{code(each.id)}; {plain('; '.join(source.text for source in each.sources))}*"
    yield ""


def _packages(row: Environment) -> Iterator[str]:
    yield f"Every package is the newest compatible one that was uploaded by {row.cutoff}; the lock that ships with the"
    yield "environment pins them all."
    yield ""
    bounds = [*(("bound", each) for each in row.constraints), *(("added", each) for each in row.additions)]
    yield from table(("", "Requirement", "Reason"), (_bound_cells(word, each) for word, each in bounds))
    if row.source_builds:
        yield f"Built from source, as they have no suitable wheel: {', '.join(map(code, row.source_builds))}."
        yield ""


def _bound_cells(word: str, each: Constraint) -> tuple[str, ...]:
    trap = each.advisory
    return word, code(each.requirement), f"{plain(trap.title)}: {plain(trap.reason)} ({code(trap.id)})"


def _bases(catalog: Catalog, row: Environment) -> Iterator[str]:
    yield "In order of preference; `build` takes the first that is available."
    yield ""
    header = ("Base", "System", "Python", "CUDA libraries", "Driver", "Published")
    yield from table(header, (_base_cells(catalog, row, choice) for choice in row.bases))
    deviations: dict[tuple[str, str], list[str]] = {}
    for choice in row.bases:
        for each in choice.deviations:
            deviations.setdefault((each.what, each.why), []).append(choice.system.id)
    yield from table(
        ("Deviation from what TensorFlow was compiled for", "Why it is accepted", "Bases"),
        ((plain(what), plain(why), ", ".join(bases)) for (what, why), bases in deviations.items()),
    )


def _base_cells(catalog: Catalog, row: Environment, choice: BaseChoice) -> tuple[str, ...]:
    libraries = (
        f"CUDA {choice.cuda}, cuDNN {choice.cudnn}, from {choice.cuda_provider.value}"
        + ("; NVIDIA's license must be accepted" if choice.archives else "")
        if choice.cuda
        else NONE
    )
    return (
        choice.system.id,
        f"{plain(_system(choice.system))}, glibc {choice.system.glibc}",
        f"{choice.python} from {choice.python_provider.value}",
        libraries,
        str(catalog.driver_floor(row, choice) or NONE),
        plain(str(choice.system.publication)),
    )


def _system(system: BaseSystem) -> str:
    return system.image or f"{system.kind.value.capitalize()} {system.suite}"


def _evidence(row: Environment) -> Iterator[str]:
    yield from table(
        ("Grade", "Day", "What was seen"),
        ((each.grade.value, str(each.when), plain(str(each))) for each in reversed(row.evidence)),
    )
    if row.unproven:
        yield "Failed proofs:"
        yield ""
        yield from table(
            ("Grade", "Day", "Why"), ((each.grade.value, str(each.when), plain(each.why)) for each in row.unproven)
        )


def _others(row: Environment) -> Iterator[str]:
    if row.framework.others:
        yield "`tensorflow:` in [envbuilder.yaml](../spec.md), or `build --tensorflow`, selects one of them."
        yield ""
    yield from table(
        ("Release", "Python", "Known trap"),
        (
            (
                code(f"{each.package}=={each.version}"),
                ", ".join(map(str, each.pythons)),
                plain(each.advisory.title) if each.advisory else NONE,
            )
            for each in row.framework.others
        ),
    )


def _sentence(text: str, *, capital: bool = True) -> str:
    """Return a text of the catalog, which has neither a capital at its start nor a period, as a sentence."""
    is_word = text.partition(" ")[0].isalpha()
    return plain(f"{text[:1].upper() if capital and is_word else text[:1]}{text[1:]}.")
