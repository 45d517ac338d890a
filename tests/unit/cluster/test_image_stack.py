"""The stack of a lock is that of its libraries and its base."""

from __future__ import annotations

from envbuilder.catalog.node_requirements import node_requirements
from envbuilder.cluster.image_stack import image_stack
from tests.fakes.catalogs import good_lock, small_catalog, small_row


def test_the_image_of_a_lock_has_the_libraries_and_the_base_of_the_lock() -> None:
    lock = good_lock()
    assert lock.cuda is not None

    image = image_stack(small_row(lock.environment), lock)

    assert (image.base, image.cuda, image.cudnn) == (lock.base.id, lock.cuda.cuda, lock.cuda.cudnn)
    assert not image.has_compat_library
    assert node_requirements(small_catalog().cuda, image).environment == lock.environment
