"""Tags with a placeholder give each image a name of its own; without one, several images are refused."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import UnknownEnvironment, UsageError
from envbuilder.wiring.image_requests import Selection, checked, refuse_shared_names, target_names
from tests.fakes.catalogs import real_catalog


def test_a_tag_may_contain_the_name_of_the_image() -> None:
    selection = checked(Selection(tags=("h:5000/team/{name}:1", "{name}", "h:5000/team/tf:{name}")), push=True)
    assert selection.tags == ("h:5000/team/{name}:1", "{name}:latest", "h:5000/team/tf:{name}")


@pytest.mark.parametrize("tag", ["h/{other}:1", "h/{name}}:1", "H/{name}", "{name}:a:b"])
def test_any_other_text_is_no_reference(tag: str) -> None:
    with pytest.raises(UsageError, match="--tag"):
        checked(Selection(tags=(tag,)), push=True)


def test_several_images_need_a_placeholder_in_every_tag() -> None:
    refuse_shared_names(["a", "b"], ("h/{name}:1",))
    refuse_shared_names(["a"], ("h/x:1",))
    with pytest.raises(UsageError, match="several images cannot have the same name") as caught:
        refuse_shared_names(["a", "b"], ("h/{name}:1", "h/x:1"))
    assert "{name}" in caught.value.hint
    with pytest.raises(UsageError, match="several images would have the name a"):
        refuse_shared_names(["a", "b", "a"], ())


def test_globs_are_expanded_and_repetitions_left_out() -> None:
    found = target_names(real_catalog(), ("tf-2.15-cpu", "tf-2.1[56]-cpu", "some.lock"))
    assert found == ("tf-2.15-cpu", "tf-2.16-cpu", "some.lock")
    assert target_names(real_catalog(), ()) == (None,)
    with pytest.raises(UnknownEnvironment):
        target_names(real_catalog(), ("tf-9.*",))
