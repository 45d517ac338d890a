"""The probe's JSON to facts."""

from __future__ import annotations

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.json_input import BadJson, load_json
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import (
    FACTS_SCHEMA,
    BuildFacts,
    CudnnStart,
    Device,
    Driver,
    DriverInterface,
    Facts,
    Gpu,
    GpuWork,
    Imported,
    Interpreter,
    LibcudaPath,
    Library,
    LibraryLoad,
    Loader,
    Machine,
    OwnCheck,
    Placed,
    RoundTrip,
    Training,
)
from envbuilder.diagnostics.probe import hardware_decoding, host_decoding
from envbuilder.diagnostics.probe.fact_fields import read_fact
from envbuilder.diagnostics.probe.gpu_decoding import gpu_tier
from envbuilder.diagnostics.probe.json_fields import Item, WrongField
from envbuilder.diagnostics.probe.memory_decoding import memory_facts
from envbuilder.diagnostics.probe.software_decoding import build_info, software


def decode(document: str | bytes, origin: str) -> Facts:
    """Read what the probe printed.

    Args:
        document: The probe's standard output, whole.
        origin: Where it comes from; names the file in a fault.

    Raises:
        InvalidInput: This is not what the probe of this schema prints; names the first field that is wrong.
    """
    try:
        return _facts(_root(document), origin)
    except WrongField as error:
        fault = Fault(file=origin, line=0, field=error.path, problem=error.problem)
        raise InvalidInput(
            (fault,), hint="facts come from envbuilder's probe; run `envbuilder validate` again"
        ) from error


def _root(document: str | bytes) -> Item:
    root = Item(_parsed(document))
    if root["schema"].integer() != FACTS_SCHEMA:
        raise WrongField("schema", f"must be {FACTS_SCHEMA}: this comes from another version of envbuilder")
    return root


def _parsed(document: str | bytes) -> object:
    try:
        return load_json(document, surrogates=True)
    except BadJson as error:
        raise WrongField("", f"is not one JSON document: {error}") from error


def _facts(root: Item, origin: str) -> Facts:
    facts = root["facts"]
    return Facts(
        origin=origin,
        seconds=root["seconds"].number() or 0.0,
        interpreter=read_fact(facts["interpreter"], _interpreter),
        machine=read_fact(facts["machine"], _machine),
        distributions=read_fact(facts["distributions"], _texts_by_name),
        libraries=read_fact(facts["libraries"], _libraries),
        driver=read_fact(facts["driver"], _driver),
        loader=read_fact(facts["loader"], _loader),
        own_check=read_fact(facts["tensorflow-own-check"], _own_check),
        imported=read_fact(facts["tensorflow-import"], _imported),
        build=read_fact(facts["tensorflow-build"], _build),
        devices=read_fact(facts["tensorflow-devices"], _devices),
        training=read_fact(facts["tensorflow-training"], _training),
        saving=read_fact(facts["tensorflow-saving"], _saving),
        gpu=read_fact(facts["tensorflow-gpu"], _gpu_work),
        tier=gpu_tier(facts),
        log=read_fact(facts["tensorflow-log"], _texts),
        memory=read_fact(facts["tensorflow-memory-policy"], memory_facts),
        cudnn=read_fact(facts["cudnn-start"], _cudnn),
        nvml=read_fact(facts["nvml"], hardware_decoding.nvml),
        compute=read_fact(facts["compute"], hardware_decoding.compute),
        host=read_fact(facts["host"], host_decoding.host),
        software=read_fact(facts["software"], software),
    )


def _texts(item: Item) -> tuple[str, ...]:
    return tuple(entry.text() for entry in item.items())


def _texts_by_name(item: Item) -> tuple[tuple[str, str], ...]:
    return tuple((name, value.text()) for name, value in item.members())


def _release(item: Item) -> Release | None:
    return item.maybe(Item.release)


def _count(item: Item) -> int | None:
    return item.maybe(Item.integer)


def _interpreter(item: Item) -> Interpreter:
    return Interpreter(
        version=item["version"].release(),
        implementation=item["implementation"].text(),
        executable=item["executable"].text(),
        prefix=item["prefix"].text(),
        glibc=_release(item["glibc"]),
        platform=item["platform"].text(),
        machine=item["machine"].text(),
        uid=item["uid"].integer(),
        ld_library_path=item["ld_library_path"].text(),
        encoding=item["encoding"].text(),
    )


def _machine(item: Item) -> Machine:
    cpu, memory = item["cpu"], item["memory"]
    return Machine(
        cpu=cpu["model"].text(),
        avx=cpu["avx"].maybe(Item.flag),
        avx2=cpu["avx2"].maybe(Item.flag),
        fma=cpu["fma"].maybe(Item.flag),
        memory=_count(memory["total"]),
        memory_limit=_count(memory["limit"]),
        shm=_count(item["shm"]),
        kernel=item["kernel"].text(),
        avx512f=cpu["avx512f"].maybe(Item.flag),
    )


def _libraries(item: Item) -> tuple[Library, ...]:
    return tuple(Library(soname=name, load=read_fact(load, _load)) for name, load in item.members())


def _load(item: Item) -> LibraryLoad:
    return LibraryLoad(
        loaded=item["loaded"].flag(),
        error=item["error"].text(),
        path=item["path"].text(),
        via=item["via"].text(),
        version=_release(item["version"]),
        cudart=_release(item["cudart"]),
    )


def _cudnn(item: Item) -> CudnnStart:
    return CudnnStart(soname=item["soname"].text(), status=item["status"].integer())


def _driver(item: Item) -> Driver:
    return Driver(
        interface=read_fact(item["interface"], _driver_interface),
        module=_release(item["module"]["release"]),
        library=_release(item["library"]),
    )


def _driver_interface(item: Item) -> DriverInterface:
    if not item["loadable"].flag():
        return DriverInterface(
            loadable=False,
            error=item["error"].text(),
            path="",
            stub=False,
            cuda=None,
            init_code=None,
            init_name="",
            gpus=(),
        )
    return DriverInterface(
        loadable=True,
        error=item["error"].text(),
        path=item["path"].text(),
        stub=item["stub"].flag(),
        cuda=_release(item["cuda"]),
        init_code=item["init"]["code"].integer(),
        init_name=item["init"]["name"].text(),
        gpus=tuple(_gpu(gpu) for gpu in item["gpus"].items()),
    )


def _gpu(item: Item) -> Gpu:
    return Gpu(
        index=item["index"].integer(),
        error=item["error"].text(),
        name=item["name"].maybe(Item.text) or "",
        capability=_release(item["capability"]),
        memory=_count(item["memory"]),
    )


def _loader(item: Item) -> Loader:
    return Loader(
        libcuda=tuple(
            LibcudaPath(source=entry["source"].text(), path=entry["path"].text(), stub=entry["stub"].flag())
            for entry in item["libcuda"].items()
        ),
        stubs=_texts(item["stubs"]),
    )


def _own_check(item: Item) -> OwnCheck:
    return OwnCheck(available=item["available"].flag(), ok=item["ok"].maybe(Item.flag), missing=_texts(item["missing"]))


def _imported(item: Item) -> Imported:
    return Imported(
        version=item["version"].text(),
        git_version=item["git_version"].text(),
        numpy=item["numpy"].text(),
        path=item["path"].text(),
    )


def _build(item: Item) -> BuildFacts:
    return BuildFacts(cuda=item["cuda"].flag(), info=build_info(item["info"]))


def _devices(item: Item) -> tuple[Device, ...]:
    return tuple(
        Device(name=entry["name"].text(), type=entry["type"].text(), description=entry["description"].text())
        for entry in item.items()
    )


def _training(item: Item) -> Training:
    return Training(
        how=item["how"].text(),
        steps=item["steps"].integer(),
        first=item["first"].number(),
        last=item["last"].number(),
        device=item["device"].text(),
    )


def _saving(item: Item) -> tuple[RoundTrip, ...]:
    return tuple(
        RoundTrip(format=entry["format"].text(), equal=entry["equal"].flag(), difference=entry["difference"].number())
        for entry in item.items()
    )


def _gpu_work(item: Item) -> tuple[GpuWork, ...]:
    return tuple(
        GpuWork(
            asked=entry["asked"].text(),
            matmul=read_fact(entry["matmul"], _placed),
            convolution=read_fact(entry["convolution"], _placed),
        )
        for entry in item["gpus"].items()
    )


def _placed(item: Item) -> Placed:
    return Placed(
        placed=item["placed"].text(),
        on_device=item["on_device"].flag(),
        difference=item["difference"].maybe(Item.number),
    )
