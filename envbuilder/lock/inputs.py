"""Inputs of a lock, field by field, so that the changes of a stale lock can be reported."""

from __future__ import annotations

from envbuilder.catalog.archives import ArchiveUse
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.core.digests import digest_of, shortened
from envbuilder.core.versions import Release
from envbuilder.lock.lock import Lock, OwnFile, PrioritizedFiles
from envbuilder.lock.prioritized_files import dump_prioritized
from envbuilder.lock.spec import Spec

UPGRADED = "upgraded"
"""Input of a lock whose packages were upgraded: the day."""


def inputs(
    row: Environment,
    choice: BaseChoice | None,
    spec: Spec,
    driver: Release | None,
    *,
    profiles: tuple[tuple[str, str], ...] = (),
) -> tuple[tuple[str, str], ...]:
    """Return every field of environment and spec that a lock depends on.

    Args:
        row: The current environment.
        choice: The base of the lock in its current form; None if the environment no longer has it.
        spec: The current spec.
        driver: Driver floor on this base, as the catalog derives it now; None without CUDA.
        profiles: Fields of the spec's profiles, as the catalog has them now.

    Returns:
        `(field, value)`, sorted by field; empty values are left out.
    """
    fields = {
        "row.tensorflow": f"{row.framework.package}=={row.framework.version}",
        UPGRADED if row.upgraded else "row.cutoff": row.cutoff.isoformat(),
        "row.constraints": ", ".join(each.requirement for each in row.constraints),
        "row.additions": ", ".join(each.requirement for each in row.additions),
        "row.source_builds": ", ".join(row.source_builds),
        "row.driver": str(driver or ""),
        "row.sonames": ", ".join(row.cuda.sonames) if row.cuda else "",
        **(_base_fields(choice) if choice else {}),
        "spec.environment": spec.environment,
        "spec.packages": ", ".join(spec.packages),
        "spec.source_builds": ", ".join(spec.source_builds),
        "spec.build_requires": ", ".join(spec.build_requires),
        "spec.cutoff": spec.cutoff.isoformat() if spec.cutoff else "",
        "spec.tensorflow": str(spec.tensorflow or ""),
        **_base_fields_of_spec(spec),
        "spec.user": f"{spec.user.name} {spec.user.uid}:{spec.user.gid}",
        "spec.memory": str(spec.memory),
        "spec.require_driver": "true" if spec.require_driver else "",
        **{f"spec.files.{file.path}": _content(file) for file in spec.files},
        "spec.prioritized_files": _prioritized(spec.prioritized),
        **dict(profiles),
        **{f"spec.env.{name}": f'"{value}"' for name, value in spec.env},
        **{f"spec.build_env.{name}": f'"{value}"' for name, value in spec.build_env},
        **{f"spec.{name}": value for name, value in spec.settings.described()},
    }
    return tuple(sorted((name, value) for name, value in fields.items() if value))


def has_same_base(existing: Lock, choice: BaseChoice, spec: Spec) -> bool:
    """Return True if a new lock on this base would look for the same base and OS packages as an existing one."""
    wanted = _base_fields(choice) | _base_fields_of_spec(spec)
    known = dict(existing.inputs)
    return existing.base.id == choice.system.id and all(known.get(name, "") == wanted[name] for name in wanted)


def _content(file: OwnFile) -> str:
    return f"{file.sha256[:12]}{' executable' if file.executable else ''}"


def _prioritized(files: PrioritizedFiles) -> str:
    """Return number and digest of the files of a list; empty if there are none."""
    count = sum(len(paths) for _, paths in files)
    return f"{count} files, {shortened(digest_of(dump_prioritized(files).encode()))}" if count else ""


def _use(use: ArchiveUse) -> str:
    return f"{use.archive.id} {use.archive.sha256[:12]}: {', '.join(use.sonames)}"


def _base_fields_of_spec(spec: Spec) -> dict[str, str]:
    return {
        "spec.apt": ", ".join(spec.apt),
        "spec.build_tools": ", ".join(spec.build_tools),
        "spec.python": str(spec.python or ""),
        "spec.base": spec.base,
        "spec.allow": ", ".join(spec.allow),
    }


def _base_fields(choice: BaseChoice) -> dict[str, str]:
    libraries = choice.libraries
    return {
        "row.base": choice.system.id,
        "row.base.from": choice.system.image or f"{choice.system.suite}: {', '.join(choice.system.packages)}",
        "row.base.python": f"{choice.python} from {choice.python_provider.value}",
        "row.base.cuda": choice.cuda_provider.value,
        "row.base.libraries": ", ".join((*libraries.wheels, *libraries.os_packages)) if libraries else "",
        "row.base.archives": "; ".join(map(_use, libraries.archives)) if libraries else "",
        "row.base.os_packages": ", ".join(choice.os_packages),
        "row.base.source_builds": ", ".join(choice.source_builds),
        "row.base.links": ", ".join(f"{link.name} -> {link.target}" for link in choice.links),
    }
