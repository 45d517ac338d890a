"""Version ranges as users write them."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from envbuilder.catalog.advise.advice import Spec
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release

_BARE = re.compile(r"\d+(\.\d+)*(\.?(\*|x))?((a|b|rc|\.?post|\.?dev)\d+)?")
_PATCH_LEVEL = 3


def spec_of(text: str, what: str) -> Spec:
    """Parse a range such as `>=2.4,<2.6`; a bare version without a patch number stands for all its patch releases.

    Args:
        text: The user's text.
        what: Name of the software, for errors.

    Raises:
        UsageError: The text is not a range.

    Example:
        >>> str(spec_of("2.4", "TensorFlow").versions), str(spec_of("2.4.1", "TensorFlow").versions)
        ('==2.4.*', '==2.4.1')
    """
    written = text.strip().replace(" ", "")
    try:
        return Spec(text=written, versions=SpecifierSet(",".join(_part(part) for part in written.split(","))))
    except InvalidSpecifier as error:
        raise UsageError(
            f"{text!r} is not a version range of {what}", hint="use 2.4, 2.4.1, '>=2.4,<2.6' or '~=2.4'"
        ) from error


def _part(part: str) -> str:
    if not _BARE.fullmatch(part):
        return part
    plain = re.sub(r"\.?(\*|x)$", "", part)
    is_exact = plain == part and (part.count(".") >= _PATCH_LEVEL - 1 or re.search(r"[a-z]", part))
    return f"=={part}" if is_exact else f"=={plain}.*"


def release_of(text: str, what: str) -> Release:
    """Parse a dotted number such as `450.51`; a leading `R` or `v`, as in `R450`, is left out.

    Raises:
        UsageError: The text is not a release.
    """
    try:
        return Release(text.strip().removeprefix("R").removeprefix("v"))
    except ValueError as error:
        raise UsageError(f"{text!r} is not a version of {what}", hint="use a version such as 450.51.06") from error
