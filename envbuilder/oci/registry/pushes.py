"""Pushes of one image under several names, begun before all of its layers are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envbuilder.core.references import ImageRef
from envbuilder.oci.images import AssembledImage, Descriptor
from envbuilder.oci.registry.push import Push
from envbuilder.oci.transfers import PushResult


class Pushes:
    """Pushes of one image; each repository receives its layers once."""

    def __init__(self, references: Sequence[ImageRef], begin: Callable[[ImageRef], Push]) -> None:
        self._references = references
        self._by_repository: dict[str, Push] = {}
        for reference in references:
            if reference.repository not in self._by_repository:
                self._by_repository[reference.repository] = begin(reference)

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        """Return the digests of the layers that every repository holds; none if there is no name.

        Raises:
            SourceUnreachable: A registry does not respond, or refuses.
        """
        answers = [push.held(layers) for push in self._by_repository.values()]
        return frozenset.intersection(*answers) if answers else frozenset()

    def send(self, item: str, layer: Descriptor) -> None:
        """Send a layer of the store to every repository that lacks it; arguments and errors as in `Push.send`."""
        for push in self._by_repository.values():
            push.send(item, layer)

    def stop(self) -> None:
        """Cancel all uploads at their next report."""
        for push in self._by_repository.values():
            push.stop()

    def finish(self, image: AssembledImage) -> tuple[PushResult, ...]:
        """Complete the image in each repository, then set its tags; one result for each name.

        Errors as in `Push.finish`.
        """
        return tuple(
            self._by_repository[reference.repository].finish(image, reference) for reference in self._references
        )
