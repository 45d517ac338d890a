"""Differences between two locks, and between a lock and its environment and spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envbuilder.core.digests import digest_of, shortened
from envbuilder.lock.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChange:
    """One difference between two locks, or between a lock and what it should be.

    Attributes:
        field: The field, such as `packages.own.six`.
        old: Before; empty if it was added.
        new: After; empty if it was removed.
    """

    field: str
    old: str
    new: str

    def __str__(self) -> str:
        if not self.old:
            return f"+ {self.field} {self.new}"
        if not self.new:
            return f"- {self.field} {self.old}"
        return f"~ {self.field} {self.old} -> {self.new}"


def compare(old: Lock, new: Lock) -> tuple[LockChange, ...]:
    """Return every pin and setting that differs, sorted by field; inputs are left out, since pins reflect them."""
    return _changes(_flat(old), _flat(new))


def changed_inputs(lock: Lock, inputs: Mapping[str, str]) -> tuple[LockChange, ...]:
    """Return the changes in environment and spec since the lock was made; empty if it is up to date."""
    return _changes(dict(lock.inputs), inputs)


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[LockChange, ...]:
    return tuple(
        LockChange(field=field, old=old.get(field, ""), new=new.get(field, ""))
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    )


def _flat(lock: Lock) -> dict[str, str]:
    flat = {
        "environment": lock.environment,
        "framework": f"{lock.framework} {lock.framework_version}",
        "base": " ".join(filter(None, (lock.base.id, lock.base.image, shortened(lock.base.digest)))),
        "summary": lock.summary,
        "epoch": str(lock.epoch),
        "python": f"{lock.python.version} from {lock.python.provider.value} {shortened(lock.python.sha256)}".rstrip(),
        "user": f"{lock.user.name} {lock.user.uid}:{lock.user.gid}",
        "memory": str(lock.memory),
    }
    if lock.name:
        flat["name"] = lock.name
    if lock.cuda is not None:
        flat["cuda"] = f"{lock.cuda.cuda} from {lock.cuda.provider.value}"
        flat["cudnn"] = lock.cuda.cudnn.text
        flat["driver"] = lock.cuda.driver.text
        flat |= {"require": lock.cuda.require} if lock.cuda.require else {}
        flat |= {f"sonames.{soname}": "opened" for soname in lock.cuda.sonames}
        flat |= {f"links.{link.name}": link.target for link in lock.cuda.links}
        flat |= {f"archives.{pin.id}": shortened(pin.sha256) for pin in lock.cuda.archives}
        flat |= {
            f"archives.{pin.id}.{library.soname}": f"{library.path} {shortened(library.sha256)}".rstrip()
            for pin in lock.cuda.archives
            for library in pin.libraries
        }
    flat |= {f"env.{name}": f'"{value}"' for name, value in lock.env}
    flat |= {f"build_env.{name}": f'"{value}"' for name, value in lock.build_env}
    flat |= dict(lock.settings.described())
    flat |= {f"deviations.{deviation.partition(':')[0]}": "stated" for deviation in lock.deviations}
    flat |= {f"base.missing.{suite}": "missing" for suite in lock.base.missing}
    flat |= {f"base.packages.{pin.name}": pin.version for pin in lock.base.packages}
    flat |= {f"os_packages.{pin.name}": pin.version for pin in lock.os_packages}
    flat |= {f"build_os_packages.{pin.name}": pin.version for pin in lock.build_os_packages}
    flat |= {
        f"files.{file.path}": f"{shortened(file.sha256)}{' executable' if file.executable else ''}"
        for file in lock.files
    }
    flat |= {
        f"prioritized_files.{layer}": f"{len(paths)} files {shortened(digest_of(' '.join(paths).encode()))}"
        for layer, paths in lock.prioritized_files
    }
    flat |= {f"allow.{path}": "allowed" for path in lock.allow}
    flat |= {f"profiles.{profile}": "added" for profile in lock.profiles}
    flat |= {f"tools.{tool.name}": tool.version for tool in lock.tools}
    flat |= {
        f"packages.{pin.group.value}.{pin.name}": f"{pin.version} {shortened(pin.sha256)}" for pin in lock.packages
    }
    return flat
