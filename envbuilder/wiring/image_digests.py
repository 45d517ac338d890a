"""The image digests of a lock, computed when it is locked."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.core.errors import BuildFailed, DiskFull, LicenseNotAccepted, SourceUnreachable, ToolFailed, UsageError
from envbuilder.image.assemble import assemble
from envbuilder.image.layers.cached_bases import with_libraries
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import LayerRecord
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.build_inputs import add_archives, assembly_context
from envbuilder.wiring.layer_caches import layer_cache
from envbuilder.wiring.session import Session
from envbuilder.wiring.vendor_archives import refuse_licenses

_LEFT_OUT = (SourceUnreachable, ToolFailed, BuildFailed, DiskFull, UsageError, LicenseNotAccepted)
"""Errors that prevent computing the image on this machine, although the pins are right."""


def with_image(session: Session, lock: Lock, sources: Sources, before: Lock | None) -> Lock:
    """Return a lock with the digests of its image; without them, and with a notice, if they cannot be computed.

    Layers of `before`, the lock that this one replaces, need not be made.

    Raises:
        VerificationFailed: A file does not match its hash, or the image would lack a library.
    """
    layer_format = before.image.format if before and before.image else LayerFormat.GZIP_SPLICED
    known = {
        layer.key: LayerRecord(
            packed=Packed(
                digest=layer.blob.digest, size=layer.blob.size, diff_id=layer.diff_id, contents=layer.contents
            )
        )
        for layer in (before.image.layers if before and before.image else ())
    }
    add_archives(session, sources)
    context = replace(assembly_context(session, sources), cache=layer_cache(session, sources))
    known = with_libraries(known, context)
    # Only for this lock: statements of a lock about a layer are not trusted for other images.
    records = context.records
    remembered = replace(records, shipped=lambda key: known.get(key) or records.shipped(key))
    try:
        refuse_licenses(session, lock, sources)
        with session.store.used():
            [assembled] = assemble(
                [lock], layer_format, replace(context, records=remembered), session.listener, digests_only=True
            ).images
    except _LEFT_OUT as error:
        reason = error.message.splitlines()[0].rstrip(":")
        session.progress(f"the lock does not name its image, which cannot be computed here: {reason}")
        if isinstance(error, BuildFailed):
            session.progress(error.hint)
        return replace(lock, image=None)
    return assembled.lock
