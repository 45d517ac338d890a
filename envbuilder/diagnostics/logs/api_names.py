"""Public names of TensorFlow in a log: the missing one, and those that the program uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.log_facts import LogFacts

_ERRORS = ("tf-attribute", "no-attribute-basic", "keras-module-missing", "keras-import-name")
# Names for `tf` in the names of modules: TensorFlow's own packages, and those of the generated API.
_ROOT = re.compile(r"^(?:tensorflow_core|tensorflow|keras\.api)(?:\._api\.v[12]|\._v[12])?(?=\.|$)")
_IMPORTED = re.compile(r"from '?(?P<module>tensorflow[\w.]{0,80})'?")
_ATTRIBUTE = re.compile(r"module '?(?P<module>[\w.]{2,90})'? has no attribute")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingName:
    """A public name that an import or an access did not find.

    Attributes:
        name: Dotted: `tf.contrib.layers`.
        releases: Minor releases that have it, ascending; empty when none has.
    """

    name: str
    releases: tuple[Release, ...]


def missing_name(facts: LogFacts) -> MissingName | None:
    """Return the first missing public name; None if there is none, or nothing is known about it."""
    for signature in _ERRORS:
        hit = facts.evidence.hits.get(signature)
        for sample in hit.samples if hit else ():
            name = _public(sample.text, sample.captured.get("attribute", ""), sample.captured.get("module", ""))
            missing = _known(facts, name, is_module=signature == "keras-module-missing") if name else None
            if missing is not None:
                return missing
    return None


def _known(facts: LogFacts, name: str, *, is_module: bool) -> MissingName | None:
    """Return the releases of a name, or of its module if the log's release lacks the module."""
    api, running = facts.api(), facts.extracted.tensorflow
    prefix = name
    while prefix.count("."):
        having = api.having(prefix) if api.knows(prefix) else None
        there = running or (api.releases[-1] if api.releases else None)
        lacks = having is not None and there is not None and there.head(2) not in {each.head(2) for each in having}
        # A package that can be imported need not be a public name: tensorflow.examples was none.
        if having is not None and (lacks or prefix == name) and (having or not is_module):
            return MissingName(name=prefix, releases=having)
        prefix = prefix.rpartition(".")[0]
    return None


def _public(text: str, attribute: str, module: str) -> str:
    """Return `tf.train.Saver` for a message about it; empty for a message about no public name."""
    if not module:
        found = _ATTRIBUTE.search(text) or _IMPORTED.search(text)
        module = f"{found['module']}.{attribute}" if found and attribute else ""
    public = _ROOT.sub("tf", module, count=1).rstrip(".")
    parts = public.split(".")
    hidden = any(part.startswith("_") for part in parts) or parts[1:2] in (["python"], ["core"])
    return public if parts[0] == "tf" and len(parts) > 1 and not hidden else ""


def releases_of_program(facts: LogFacts, missing: MissingName) -> tuple[tuple[Release, ...], tuple[str, ...]]:
    """Return the releases that have the missing name and all other names that the program uses.

    Returns:
        The releases, ascending, and the names. Names that no release has together with the others are left out.
    """
    releases, names = list(missing.releases), [missing.name]
    for used in dict.fromkeys(facts.evidence.captures("api")):
        having = facts.api().having(used.rstrip("."))
        left = [release for release in releases if having and release in having]
        if left and len(left) < len(releases):
            releases, names = left, [*names, used.rstrip(".")]
    return tuple(releases), tuple(names)
