"""A measurement as JSON values, in the format of the project's first measurements."""

from __future__ import annotations

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.measurement import FamilyCode, MeasuredLibrary, Measurement, PtxTarget

_RULES = {
    CudnnRule.EXACT_MINOR: "exact major.minor (loaded/100 must equal compiled/100)",
    CudnnRule.SAME_MAJOR_AT_LEAST: "same major, minor >= compiled minor",
}
_FAMILIES = {"cuda": "cuda_kernels_nv_fatbin", "mlir": "mlir_kernels_rodata"}


def record(measurement: Measurement) -> dict[str, object]:
    """Return the whole measurement.

    Returns:
        Shape: all keys, always in the same order; `None` for a missing or unreadable value.
        Compute capabilities are whole numbers, `75` for 7.5; `libraries` has all libraries by path.
    """
    metadata, cudnn = measurement.metadata, measurement.cudnn
    return {
        "package": metadata.package,
        "version": metadata.version,
        "file": measurement.file,
        "sha256": measurement.sha256,
        "size_bytes": measurement.size,
        "python_tag": measurement.python_tag,
        "platform_tag": measurement.platform_tag,
        "wheel_file_tag": list(metadata.tags),
        "requires_python": metadata.requires_python or None,
        "provides_extra": list(metadata.extras),
        "requires_dist": list(metadata.requires),
        "and_cuda_pins": list(metadata.and_cuda) or None,
        "build_info": _build_info(measurement),
        "glibc_max": _text(measurement.glibc),
        "glibcxx_max": _text(measurement.glibcxx),
        "cxxabi_max": _text(measurement.cxxabi),
        "elf_needed_main": {library.name: list(library.needed) for library in measurement.main_libraries},
        "needed_cuda_libs": {soname: list(names) for soname, names in measurement.needed_cuda} or None,
        "linkage": measurement.linkage or None,
        "dlopen_sonames": dict(measurement.opened) or None,
        "gpu_archs": _gpu_archs(measurement) or None,
        "ptx_headers": _all_ptx(measurement) or None,
        "cudnn_compiled_against": cudnn.compiled.text if cudnn else None,
        "cudnn_runtime_rule": _RULES[cudnn.rule] if cudnn else None,
        "needs_avx": measurement.needs_avx,
        "framework_runpath_nvidia_dirs": list(measurement.nvidia_folders) or None,
        "libraries": [_library(library) for library in measurement.libraries],
    }


def _build_info(measurement: Measurement) -> dict[str, object] | None:
    build_info: dict[str, object] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in measurement.build_info
    }
    return build_info or None


def _gpu_archs(measurement: Measurement) -> dict[str, object]:
    return {
        _FAMILIES[family.name]: _parts(_numbers(family.machine), _numbers(family.ptx))
        for family in measurement.families
    }


def _parts(cubin: list[int], ptx: list[int]) -> dict[str, list[int]]:
    return {name: codes for name, codes in (("cubin", cubin), ("ptx", ptx)) if codes}


def _all_ptx(measurement: Measurement) -> list[dict[str, object]]:
    """Return every kind of PTX in the wheel, once per family."""
    found: list[dict[str, object]] = []
    for library in measurement.libraries:
        for code in library.code:
            found += [entry for target in code.ptx if (entry := _ptx(code, target)) not in found]
    return sorted(found, key=lambda entry: tuple(map(str, entry.values())))


def _ptx(code: FamilyCode, target: PtxTarget) -> dict[str, object]:
    return {
        "family": _FAMILIES[code.name],
        "fatbin_with_matching_cubin": target.beside_machine,
        "ptx_arch": _number(target.capability),
        "ptx_isa": _text(target.isa),
        "target": target.target or None,
    }


def _library(library: MeasuredLibrary) -> dict[str, object]:
    return {
        "path": library.path,
        "size_bytes": library.size,
        "machine": library.machine,
        "needed": list(library.needed),
        "runpath": list(library.runpath),
        "glibc": _text(library.glibc),
        "glibcxx": _text(library.glibcxx),
        "cxxabi": _text(library.cxxabi),
        "gpu_code": [_code(code) for code in library.code],
        "bare_cubins": library.bare_cubins,
    }


def _code(code: FamilyCode) -> dict[str, object]:
    return {
        "family": _FAMILIES[code.name],
        "fatbins": code.fatbins,
        "cubin": _numbers(code.machine),
        "ptx": [_ptx(code, target) for target in code.ptx],
    }


def _numbers(capabilities: tuple[Release, ...]) -> list[int]:
    return [_number(capability) for capability in capabilities]


def _number(capability: Release) -> int:
    major, minor = capability.head(2)
    return major * 10 + minor


def _text(release: Release | None) -> str | None:
    return release.text if release else None
