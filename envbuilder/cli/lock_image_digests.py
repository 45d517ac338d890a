"""The image that a lock becomes, computed when it is locked."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.cli.output.watching import watched
from envbuilder.core.errors import BuildFailed, DiskFull, SourceUnreachable, ToolFailed, UsageError
from envbuilder.image.assemble import assemble
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import LayerRecord
from envbuilder.lock.lock import Lock, Sources
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.build_inputs import add_archives, assembly_context
from envbuilder.wiring.session import Session

_LEFT_OUT = (SourceUnreachable, ToolFailed, BuildFailed, DiskFull, UsageError)
"""What keeps an image from being computed here, though the pins are right."""


def with_image(session: Session, lock: Lock, sources: Sources, before: Lock | None) -> Lock:
    """A lock with the digests of its image; without them, and a word why, where they cannot be computed here.

    Args:
        session: Settings, catalog and stores.
        lock: The pins.
        sources: Where to fetch from.
        before: The lock that this one replaces: layers that it knows need not be made to be known.

    Raises:
        VerificationFailed: A file is not what its hash says, or the image would lack a library.
    """
    layer_format = before.image.format if before and before.image else LayerFormat.GZIP_SPLICED
    known = {
        layer.key: LayerRecord(packed=Packed(digest=layer.blob.digest, size=layer.blob.size, diff_id=layer.diff_id))
        for layer in (before.image.layers if before and before.image else ())
    }
    add_archives(session, sources)
    with watched(session.settings, "lock-image") as (listener, _):
        context = assembly_context(session, sources)
        # Only for this lock: what a lock says about a layer is no reason to believe it in the image of another.
        records = context.records
        remembered = replace(records, shipped=lambda key: known.get(key) or records.shipped(key))
        try:
            with session.store.used():
                [assembled] = assemble(
                    [lock], layer_format, replace(context, records=remembered), listener, digests_only=True
                ).images
        except _LEFT_OUT as error:
            reason = error.message.splitlines()[0]
            session.progress(f"the lock does not name its image, which cannot be computed here: {reason}")
            return replace(lock, image=None)
    return assembled.lock
