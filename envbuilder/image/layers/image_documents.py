"""The configuration and the manifest of an image: canonical bytes, so that their digests follow from the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envbuilder.core.json_fields import record
from envbuilder.image.plan.plan import Plan
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.oci.documents import entry, json_document, layer_entry, timestamp
from envbuilder.oci.images import (
    CONFIG_TYPE,
    MANIFEST_TYPE,
    AssembledImage,
    ImageLayerPin,
    ImagePin,
    LayerFormat,
)

_INHERITED = ("Entrypoint", "ExposedPorts", "Volumes", "StopSignal", "Shell", "Healthcheck")
_ANNOTATED = "org.opencontainers.image."


def image_of(
    plan: Plan, layers: Sequence[ImageLayerPin], base_config: Mapping[str, object], *, packer: str = ""
) -> AssembledImage:
    """Return the image that consists of some layers.

    Args:
        plan: Source of environment variables, labels and titles.
        layers: All layers, those of the base too, lowest first.
        base_config: Configuration of a registry image as base; empty for a tree.
        packer: Version of the library that affects the bytes of the layers; empty if none does.
    """
    created = timestamp(plan.lock.epoch)
    config = json_document(CONFIG_TYPE, _config(plan, layers, base_config, created))
    annotations = {name: value for name, value in plan.labels if name.startswith(_ANNOTATED)}
    if packer:
        annotations["io.envbuilder.packer"] = packer
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": entry(config.descriptor),
        "layers": [layer_entry(layer) for layer in layers],
        "annotations": annotations | {f"{_ANNOTATED}created": created},
    }
    return AssembledImage(layers=tuple(layers), config=config, manifest=json_document(MANIFEST_TYPE, manifest))


def pin_of(image: AssembledImage, layer_format: LayerFormat) -> ImagePin:
    """Return the pin of an image for a lock."""
    return ImagePin(
        format=layer_format,
        layers=image.layers,
        config=image.config.descriptor.digest,
        manifest=image.manifest.descriptor.digest,
    )


def _config(
    plan: Plan, layers: Sequence[ImageLayerPin], base_config: Mapping[str, object], created: str
) -> dict[str, object]:
    inherited = record(base_config, "config")
    user = plan.lock.user
    titles = {layer.id: layer.title for layer in plan.layers}
    settings: dict[str, object] = {name: inherited[name] for name in _INHERITED if inherited.get(name)}
    settings |= {
        "Env": _environment(inherited.get("Env"), plan.env),
        "WorkingDir": plan.settings.workdir,
        "User": f"{user.uid}:{user.gid}",
        "Labels": {name: str(value) for name, value in record(inherited, "Labels").items()} | dict(plan.labels),
    }
    settings |= _of_containers(plan.settings, record(inherited, "ExposedPorts"))
    settings = {name: value for name, value in settings.items() if value}
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [
            {"created": created, "created_by": f"envbuilder: {titles.get(layer.id, layer.id)}", "comment": layer.id}
            for layer in layers
        ],
    }


def _of_containers(own: ContainerSettings, ports: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of containers that replace those of the base; an empty list removes that of the base.

    Args:
        own: The settings.
        ports: Ports of the base, which are kept.

    Source: https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md, and for the health check, which that
    specification reserves, https://github.com/moby/docker-image-spec/blob/v1.3.1/specs-go/v1/image.go.
    """
    found: dict[str, object] = {"Cmd": list(own.command or ())}
    if own.entrypoint is not None:
        found["Entrypoint"] = list(own.entrypoint)
    if own.ports:
        found["ExposedPorts"] = {**ports, **{port: {} for port in own.ports}}
    if (check := own.healthcheck) is not None:
        nanoseconds = 10**9
        found["Healthcheck"] = {
            "Test": ["CMD", *check.command],
            "Interval": check.interval * nanoseconds,
            "Timeout": check.timeout * nanoseconds,
            "StartPeriod": check.start_period * nanoseconds,
            "Retries": check.retries,
        }
    return found


def _environment(inherited: object, own: Sequence[tuple[str, str]]) -> list[str]:
    """Return `NAME=value`, sorted by name; values of the plan take precedence."""
    pairs = dict(str(each).partition("=")[::2] for each in inherited) if isinstance(inherited, list) else {}
    return [f"{name}={value}" for name, value in sorted({**pairs, **dict(own)}.items())]
