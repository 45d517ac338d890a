"""A tree as an archive for `docker load`, with an image id that is known in advance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.digests import digest_of, digest_of_file, digits_of
from envbuilder.image.base.tree_store import DebTree
from envbuilder.oci.documents import timestamp
from envbuilder.oci.tar import writing as tarball
from envbuilder.oci.tar.members import EPOCH, Kind, Member, file_of, on_disk


def docker_archive(
    tree: DebTree,
    out: Path,
    *,
    labels: Mapping[str, str],
    tags: tuple[str, ...] = (),
    added: Path | None = None,
) -> str:
    """Write a tree as an image of one layer, or of two; the layers are streamed from their tars.

    Args:
        tree: Its digest must be that of its tar; the engine checks it when it loads the archive.
        out: File to write.
        labels: Labels of the image.
        tags: `repository:tag` that the engine gives the image; the id does not depend on them.
        added: Tar of the OS packages on the tree; None for none.

    Returns:
        The `sha256:…` that an engine with the classic image store gives the loaded image. The containerd store names
        images by manifest instead, so there only the diff id can be compared.
    """
    layers = {"layer.tar": (tree.path, tree.digest), **({"added.tar": (added, digest_of_file(added))} if added else {})}
    config = canonical_json(_config(tree, [digest for _, digest in layers.values()], labels))
    image_id = digest_of(config)
    name = digits_of(image_id)
    manifest = canonical_json([{"Config": f"{name}.json", "RepoTags": list(tags) or None, "Layers": list(layers)}])
    members = (
        file_of("manifest.json", manifest, mtime=EPOCH),
        file_of(f"{name}.json", config, mtime=EPOCH),
        *(_layer(path, name) for name, (path, _) in layers.items()),
    )
    tarball.write(members, out)
    return image_id


def _config(tree: DebTree, diff_ids: list[str], labels: Mapping[str, str]) -> dict[str, object]:
    created = timestamp(EPOCH)
    return {
        "architecture": "amd64",
        "config": {"Labels": dict(labels)},
        "created": created,
        "history": [{"created": created, "created_by": f"Debian packages {tree.suite}".rstrip()} for _ in diff_ids],
        "os": "linux",
        "rootfs": {"diff_ids": diff_ids, "type": "layers"},
    }


def _layer(path: Path, name: str) -> Member:
    return replace(on_disk(path, name, mtime=EPOCH), kind=Kind.FILE, mode=0o644, uid=0, gid=0, identity="")
