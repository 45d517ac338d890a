"""Titles for the steps of our Dockerfiles, which engines name by their commands."""

from __future__ import annotations

import re

# Ordered: the first pattern that is found names the step. A test matches them against every rendered Dockerfile.
_TITLES: tuple[tuple[str, str], ...] = (
    (r"download-cuda\.txt", "CUDA libraries, download"),
    (r"download\.txt", "TensorFlow and what it needs, download"),
    (r"/build\.txt", "tools for source distributions"),
    (r"/own-build\.txt", "tools for own packages"),
    (r"/build-system\.txt", "compilers for own packages"),
    (r"/built\.own\.([a-z0-9-]+)\.txt", "{}, built"),
    (r"/built\.own\.txt", "own packages, built"),
    (r"cp -R \S*/built\.(\S+)/\.", "{}"),
    (r"/system\.txt", "OS packages"),
    (r"/(?:cuda|framework|packages|own)\.([a-z0-9-]+)\.txt", "{}"),
    (r"cp -R \S*/libraries/(\S+)/\.", "libraries of {}"),
    (r"/packages\.txt", "what TensorFlow needs"),
    (r"/own\.txt", "own packages"),
    (r"/files\.txt", "own files"),
    (r"find / -xdev .* -perm /6000", "rights of programs"),
    (r"uv venv", "interpreter, virtual environment, user"),
    (r"rm -rf /opt/\.cache && install -D .*envbuilder\.lock", "cache removed, and the lock"),
    (r"install -D .*envbuilder\.lock", "the lock and the probe"),
    (r"ln -sf \S*/nvidia/\*/lib", "CUDA libraries where the loader looks"),
    (r"-m compileall", "bytecode"),
    (r"install -d -o", "directories of the user"),
    (r"COPY \. /run/envbuilder|copy /context|load remote build context", "context"),
    (r"COPY .*--from=build|COPY (dir|multi|file):", "what was installed"),
    (r"load metadata|FROM ", "base"),
)
_PLACE = re.compile(r"^(\[[^\]]+\]|Step \d+/\d+ :)")
_WIDEST = 88


def step_title(command: str) -> str:
    """Return a step as `[image 2/5] TensorFlow`; any other step keeps its own words without mounts, shortened."""
    words = " ".join(command.split())
    place = _PLACE.match(words)
    head = f"{place[1]} " if place and place[1] != "[internal]" else ""
    for pattern, title in _TITLES:
        found = re.search(pattern, words)
        if found:
            return f"{head}{title.format(*found.groups())}"
    words = re.sub(r"--mount=\S+ |\S*/with-host ", "", words)
    return words if len(words) <= _WIDEST else f"{words[: _WIDEST - 1]}…"
