"""Files that install the Python packages of a lock without its image."""

from __future__ import annotations

import json
from collections.abc import Iterator

from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin


def requirements_file(lock: Lock) -> str:
    """Return a requirements file in hash-checking mode, one exact file for each package."""
    return "".join(f"{line}\n" for line in (*_comments(lock), *(pin.requirement for pin in _installed(lock))))


def conda(lock: Lock) -> str:
    """Return an `environment.yml` with the interpreter by conda and the packages of the lock by pip."""
    pins: list[Plain] = [pin.requirement for pin in _installed(lock)]
    document: dict[str, Plain] = {
        "name": lock.environment,
        "channels": ["conda-forge"],
        "dependencies": [f"python={lock.python.version}", "pip", {"pip": pins}],
    }
    return "".join(f"{line}\n" for line in _comments(lock)) + dump(document)


def pylock(lock: Lock, packages: str) -> str:
    """Return a `pylock.toml`: names, hashes and sizes of files in a directory.

    A lock has no index addresses, so the files are named by their path; `packages` is relative to the `pylock.toml`.

    Source: https://packaging.python.org/en/latest/specifications/pylock-toml/ (version 1.0, read 2026-11-23).
    """
    lines = [
        *_comments(lock),
        'lock-version = "1.0"',
        "environments = [\"sys_platform == 'linux' and platform_machine == 'x86_64'\"]",
        f"requires-python = {_quoted(f'=={lock.python.version.series}.*')}",
        'created-by = "envbuilder"',
    ]
    for pin in _installed(lock):
        lines += ["", *_package(pin, packages)]
    return "".join(f"{line}\n" for line in lines)


def _package(pin: PackagePin, packages: str) -> Iterator[str]:
    yield "[[packages]]"
    yield f"name = {_quoted(pin.name)}"
    yield f"version = {_quoted(pin.version)}"
    yield "[[packages.wheels]]" if pin.is_wheel else "[packages.sdist]"
    yield f"name = {_quoted(pin.file)}"
    yield f"path = {_quoted(f'{packages}/{pin.file}')}"
    if pin.size:
        yield f"size = {pin.size}"
    yield f"hashes = {{ sha256 = {_quoted(pin.sha256)} }}"


def _quoted(text: str) -> str:
    """Return a TOML string; the escapes of JSON are among those of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _installed(lock: Lock) -> Iterator[PackagePin]:
    return (pin for pin in lock.packages if pin.group.is_installed)


def _comments(lock: Lock) -> Iterator[str]:
    yield f"# {lock.environment}: {lock.summary}; for Python {lock.python.version} on Linux x86-64"
    if lock.group(PackageGroup.CUDA):
        yield "# In the image, the loader finds the libraries of the nvidia-* packages; elsewhere, add their"
        yield "# directories to LD_LIBRARY_PATH."
    elif lock.cuda:
        yield f"# Not in this file: CUDA {lock.cuda.cuda} and cuDNN {lock.cuda.cudnn}; TensorFlow needs them for GPUs."
    if lock.os_packages:
        yield f"# Not in this file: OS packages {', '.join(pin.name for pin in lock.os_packages)}"
