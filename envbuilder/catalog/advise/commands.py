"""Commands that produce an environment."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.advise.candidates import Candidate
from envbuilder.catalog.environments import Environment


def steps(candidate: Candidate, keras: Version | None) -> tuple[str, ...]:
    """Return the commands in order; lines to write into a spec stand between them.

    Args:
        candidate: What to build.
        keras: Standalone Keras to install as well; None if none is needed, or if TensorFlow depends on it.
    """
    python = None if candidate.has_own_python else candidate.choice.python
    extra = None if keras is None or brings_keras(candidate.row) else keras
    if python is None and extra is None:
        return (_build(candidate),)
    lines = [
        f'tensorflow: "{candidate.row.framework.version}"' if not candidate.is_own_release else "",
        f'base: "{candidate.choice.system.id}"' if candidate.place else "",
        f'python: "{python}"' if python else "",
        f'packages: ["keras=={extra}"]' if extra else "",
    ]
    written = "; ".join(filter(None, lines))
    return (
        f"envbuilder init {candidate.own.id}",
        f"# in envbuilder.yaml: {written}",
        "envbuilder lock",
        f"envbuilder build{candidate.choice.build_options}",
    )


def brings_keras(row: Environment) -> bool:
    """Return True if TensorFlow depends on standalone Keras; source: metadata of the wheels, from 2.6 on."""
    return row.framework.version.release[:2] >= (2, 6)


def _build(candidate: Candidate) -> str:
    words = ["envbuilder build", candidate.own.id]
    if not candidate.is_own_release:
        words.append(f"--tensorflow {candidate.row.framework.version}")
    if candidate.place:
        words.append(f"--base {candidate.choice.system.id}")
    return " ".join(words) + candidate.choice.build_options
