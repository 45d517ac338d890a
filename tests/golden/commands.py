"""The commands whose output is kept, by file."""

from __future__ import annotations

from tests.command_tree import commands_and_groups
from tests.fakes.catalogs import real_catalog
from tests.golden.products import SHOWN

_BAD_SPEC = 'environment: "tf-2.4-cuda11.0"\npython: 3.8\npakages: ["six"]\nenv:\n  API_TOKEN: "x"\n'
_STALE_SPEC = 'environment: "tf-2.15-cpu"\npackages: ["six"]\nmemory: "growth"\n'

# Files that lie in the folder of a command, besides the locks of `products`.
FILES = {"bad.yaml": _BAD_SPEC, "stale.yaml": _STALE_SPEC, "not-a.lock": "schema: 7\n", "broken.lock": "a: [\n"}


def commands() -> dict[str, tuple[str, ...]]:
    """Arguments by golden file."""
    known = {row.id for row in real_catalog().environments}
    rows = [row for row in SHOWN if row in known]
    return {
        "cli/help.txt": ("--help",),
        **{f"cli/help-{name.replace(' ', '-')}.txt": (*name.split(), "--help") for name in commands_and_groups()},
        "cli/list.txt": ("list",),
        "cli/list.json": ("list", "--json"),
        **{f"cli/show/{row}.txt": ("show", row) for row in rows},
        **{f"cli/show/{row}.json": ("show", row, "--json") for row in rows},
        "cli/init.txt": ("init", "tf-2.4-cuda11.0"),
        "cli/diff.txt": ("diff", "team.lock", "moved.lock"),
        "cli/diff.json": ("diff", "team.lock", "moved.lock", "--json"),
        "cli/diff-none.txt": ("diff", "team.lock", "team.lock"),
        "cli/lock-check-stale.txt": ("lock", "stale.yaml", "--check"),
        "cli/lock-check-stale.json": ("lock", "stale.yaml", "--check", "--json"),
        "cli/base-list.txt": ("base", "list"),
        "cli/python-list.txt": ("python", "list"),
        "cli/error-unknown-verb.txt": ("biuld",),
        "cli/error-unknown-environment.txt": ("show", "tf-2.4-cuda11.1"),
        "cli/error-unknown-glob.txt": ("list", "torch*"),
        "cli/error-bad-spec.txt": ("lock", "bad.yaml"),
        "cli/error-no-spec.txt": ("lock",),
        "cli/error-no-lock.txt": ("build",),
        "cli/error-lock-of-another-schema.txt": ("build", "not-a.lock"),
        "cli/error-lock-is-not-yaml.txt": ("build", "broken.lock"),
        "cli/error-push-without-tag.txt": ("build", "tf-2.15-cpu", "--push"),
        "cli/error-unknown-suite.txt": ("base", "bootstrap", "potato"),
    }
