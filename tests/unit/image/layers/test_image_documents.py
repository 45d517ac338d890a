"""Configuration and manifest are canonical bytes, made of plan and layers and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from envbuilder.image.layers.image_documents import image_of, pin_of
from envbuilder.image.plan.layers import plan
from envbuilder.lock.container_settings import ContainerSettings, Healthcheck
from envbuilder.oci.documents import json_document
from envbuilder.oci.images import (
    CONFIG_TYPE,
    MANIFEST_TYPE,
    AssembledImage,
    Descriptor,
    ImageLayerPin,
    LayerFormat,
    SmallBlob,
)
from tests.fakes.catalogs import good_lock

PLAN = plan(good_lock(), "sha256:" + "ab" * 32)
LAYERS = tuple(
    ImageLayerPin(
        id=layer.id,
        key=f"sha256:{number:064x}",
        diff_id=f"sha256:{number + 100:064x}",
        blob=Descriptor(media_type=LayerFormat.TAR.media_type, digest=f"sha256:{number + 200:064x}", size=number),
    )
    for number, layer in enumerate(PLAN.layers)
)


def made(base: Mapping[str, object] | None = None) -> AssembledImage:
    return image_of(PLAN, LAYERS, base or {})


def config(base: Mapping[str, object] | None = None) -> dict[str, object]:
    parsed: dict[str, object] = json.loads(made(base).config.content)
    return parsed


def settings(base: Mapping[str, object] | None = None) -> dict[str, object]:
    found = config(base)["config"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("which", ["config", "manifest"])
def test_a_document_is_canonical_and_named_by_its_bytes(which: str) -> None:
    found: SmallBlob = getattr(made(), which)
    assert found.descriptor.digest == f"sha256:{hashlib.sha256(found.content).hexdigest()}"
    assert found.descriptor.size == len(found.content)
    again = json.dumps(json.loads(found.content), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert again.encode() == found.content


def test_the_order_of_keys_does_not_matter_and_letters_stay_letters() -> None:
    assert json_document(CONFIG_TYPE, {"a": 1, "b": 2}) == json_document(CONFIG_TYPE, {"b": 2, "a": 1})
    assert json_document(CONFIG_TYPE, {"name": "Zoë"}).content == '{"name":"Zoë"}'.encode()


def test_the_manifest_names_configuration_and_layers_in_order() -> None:
    image = made()
    manifest = json.loads(image.manifest.content)
    assert (manifest["schemaVersion"], manifest["mediaType"]) == (2, MANIFEST_TYPE)
    assert manifest["config"]["digest"] == image.config.descriptor.digest
    assert [layer["digest"] for layer in manifest["layers"]] == [layer.blob.digest for layer in LAYERS]
    assert manifest["annotations"]["org.opencontainers.image.created"] == "2023-06-01T00:00:00Z"
    assert all(name.startswith("org.opencontainers.image.") for name in manifest["annotations"])


def test_the_configuration_says_what_the_plan_says() -> None:
    found = config()
    assert (found["architecture"], found["os"], found["created"]) == ("amd64", "linux", "2023-06-01T00:00:00Z")
    assert found["rootfs"] == {"type": "layers", "diff_ids": [layer.diff_id for layer in LAYERS]}
    history = found["history"]
    assert isinstance(history, list)
    assert [entry["comment"] for entry in history] == [layer.id for layer in PLAN.layers]
    own = settings()
    assert own["User"] == "1234:1235"
    assert own["Env"] == [f"{name}={value}" for name, value in PLAN.env]
    assert own["Labels"] == dict(PLAN.labels)
    assert (own["Cmd"], own["WorkingDir"]) == (["python"], "/workspace")


def test_what_the_base_says_is_kept_where_we_say_nothing() -> None:
    name, value = PLAN.labels[0]
    base = {
        "config": {
            "Env": ["PATH=/theirs", "THEIRS=1=2"], "Labels": {"theirs": "yes", name: "theirs"}, "User": "theirs",
            "Entrypoint": ["/entry"], "Cmd": ["theirs"], "WorkingDir": "/theirs", "Volumes": {},
        }
    }  # fmt: skip
    own = settings(base)
    assert own["Entrypoint"] == ["/entry"]
    assert "Volumes" not in own
    assert (own["Cmd"], own["WorkingDir"], own["User"]) == (["python"], "/workspace", "1234:1235")
    env = own["Env"]
    assert isinstance(env, list)
    assert "THEIRS=1=2" in env
    assert "PATH=/theirs" not in env
    assert env == sorted(env, key=lambda pair: str(pair).partition("=")[0])
    labels = own["Labels"]
    assert isinstance(labels, dict)
    assert (labels["theirs"], labels[name]) == ("yes", value)


def of(own: ContainerSettings, base: Mapping[str, object] | None = None) -> dict[str, object]:
    planned = plan(replace(good_lock(), settings=own), "sha256:" + "ab" * 32)
    found = json.loads(image_of(planned, LAYERS, base or {}).config.content)["config"]
    assert isinstance(found, dict)
    return found


def test_settings_of_containers_are_in_the_configuration() -> None:
    found = of(
        ContainerSettings(
            command=("--fast",),
            entrypoint=("python", "-m", "vision"),
            ports=("6006/udp", "8888/tcp"),
            labels=(("org.opencontainers.image.title", "vision"), ("owner", "team")),
            workdir="/srv/model",
            healthcheck=Healthcheck(command=("true",), interval=90, timeout=5, start_period=0, retries=2),
        )
    )
    assert (found["Entrypoint"], found["Cmd"]) == (["python", "-m", "vision"], ["--fast"])
    assert found["ExposedPorts"] == {"6006/udp": {}, "8888/tcp": {}}
    assert found["WorkingDir"] == "/srv/model"
    second = 10**9
    assert found["Healthcheck"] == {
        "Test": ["CMD", "true"], "Interval": 90 * second, "Timeout": 5 * second, "StartPeriod": 0, "Retries": 2,
    }  # fmt: skip
    labels = found["Labels"]
    assert isinstance(labels, dict)
    assert (labels["owner"], labels["org.opencontainers.image.title"]) == ("team", "vision")


def test_an_own_entry_point_removes_the_default_command_as_in_a_dockerfile() -> None:
    assert "Cmd" not in of(ContainerSettings(entrypoint=("serve",)))
    assert of(ContainerSettings(entrypoint=()))["Cmd"] == ["python"]
    assert "Cmd" not in of(ContainerSettings(command=()))


def test_an_empty_entry_point_removes_that_of_the_base_and_ports_of_the_base_stay() -> None:
    base = {"config": {"Entrypoint": ["/entry"], "ExposedPorts": {"80/tcp": {}}, "Healthcheck": {"Test": ["NONE"]}}}
    assert "Entrypoint" not in of(ContainerSettings(entrypoint=()), base)
    assert of(ContainerSettings(ports=("8888/tcp",)), base)["ExposedPorts"] == {"80/tcp": {}, "8888/tcp": {}}
    assert of(ContainerSettings(), base)["Healthcheck"] == {"Test": ["NONE"]}


@pytest.mark.parametrize("base", [{"config": None}, {"config": []}, {"config": {"Env": None, "Labels": None}}])
def test_a_base_that_says_nothing_is_like_none(base: Mapping[str, object]) -> None:
    assert made(base) == made()


def test_a_lock_names_the_digests_of_its_image() -> None:
    image = made()
    pin = pin_of(image, LayerFormat.TAR)
    assert (pin.format, pin.layers) == (LayerFormat.TAR, LAYERS)
    assert (pin.config, pin.manifest) == (image.config.descriptor.digest, image.manifest.descriptor.digest)


def test_another_layer_is_another_image() -> None:
    other = image_of(PLAN, (*LAYERS[:-1], replace(LAYERS[-1], diff_id="sha256:" + "0" * 64)), {})
    assert other.config.descriptor.digest != made().config.descriptor.digest
    assert other.manifest.descriptor.digest != made().manifest.descriptor.digest
