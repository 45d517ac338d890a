"""A Debian tree as the base of an assembled image, with the OS packages on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from envbuilder.image.base.tree_store import DebTree
from envbuilder.oci.tar.members import Member, of_tar


@dataclass(frozen=True)
class TreeContent:
    """A tree that is opened on first use.

    Attributes:
        find_tree: Returns the tree; called at most once.
        unpack_added: Returns the files that the OS packages add to these members.
    """

    find_tree: Callable[[], DebTree]
    unpack_added: Callable[[tuple[Member, ...]], Iterable[Member]] = lambda _members: ()

    def provide(self) -> Path:
        """Fetch and unpack the packages of the tree, unless it is there; return it as a tar."""
        return self._tree.path

    def added(self) -> Iterable[Member]:
        """Return the files of the OS packages, directories before their content."""
        return self._added

    def members(self) -> Iterable[Member]:
        """Return all members; those of the OS packages come last."""
        return (*self._members, *self._added)

    @cached_property
    def _tree(self) -> DebTree:
        return self.find_tree()

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        return of_tar(self._tree.path)

    @cached_property
    def _added(self) -> tuple[Member, ...]:
        return tuple(self.unpack_added(self._members))
