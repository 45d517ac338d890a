import pytest

from envbuilder.core.json_fields import Record
from envbuilder.image.builds import ImageLayer, image_info
from envbuilder.image.docker.images import engine_info, image_layers
from envbuilder.image.docker.run import has_init

CONTAINERD = {"Driver": "overlayfs", "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]}
OVERLAY2 = {"Driver": "overlay2", "DriverStatus": [["Backing Filesystem", "extfs"], ["Supports d_type", "true"]]}


@pytest.mark.parametrize(
    ("version", "api", "system", "works"),
    [
        ("20.10.24+dfsg1", "1.41", OVERLAY2, True),
        ("26.1.5", "1.45", OVERLAY2, True),
        ("26.1.5", "1.45", CONTAINERD, False),
        ("27.5.1-rc.1", "1.47", CONTAINERD, False),
        ("28.5.2", "1.51", CONTAINERD, True),
        ("18.06.3", "1.38", OVERLAY2, False),
        ("", "", {}, False),
    ],
)
def test_which_engines_build_with_buildkit_without_a_session(
    version: str, api: str, system: Record, works: bool
) -> None:
    assert engine_info({"Version": version, "ApiVersion": api}, system).sessionless_buildkit is works


@pytest.mark.parametrize(
    ("system", "gpus"),
    [
        ({"Runtimes": {"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}}}, True),
        ({"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]}, True),
        ({"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"Source": "cdi", "ID": "vendor.com/nic=0"}]}, False),
        ({"Runtimes": {"runc": {}}, "CDISpecDirs": ["/etc/cdi"], "DiscoveredDevices": None}, False),
        ({}, False),
    ],
)
def test_which_engines_hand_out_gpus(system: Record, gpus: bool) -> None:
    assert engine_info({"Version": "28.5.2", "ApiVersion": "1.51"}, system).gpus is gpus


def test_an_engine_tells_where_its_data_is_and_whom_it_asks() -> None:
    system: Record = {
        "DockerRootDir": "/data",
        "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"],
        "RegistryConfig": {"Mirrors": ["https://mirror.example/"]},
    }
    told = engine_info({"Version": "28.5.2", "ApiVersion": "1.51"}, system)
    assert (told.root, told.rootless, told.mirrors) == ("/data", True, ("https://mirror.example/",))
    silent = engine_info({}, {})
    assert (silent.root, silent.rootless, silent.mirrors) == ("", False, ())


def test_an_image_without_anything_is_read_too() -> None:
    image = image_info({"Id": "sha256:1", "RepoTags": None, "Config": {"Labels": None}, "RootFS": {"Type": "layers"}})
    assert (image.tags, image.digests, image.labels, image.diff_ids, image.size) == ((), (), (), (), 0)


def test_what_the_engine_lists_in_any_order_is_sorted() -> None:
    image = image_info({"Id": "sha256:1", "RepoTags": ["b:1", "a:1"], "Config": {"Labels": {"z": "1", "a": "2"}}})
    assert image.tags == ("a:1", "b:1")
    assert image.labels == (("a", "2"), ("z", "1"))


def test_layers_are_lowest_first_and_empty_ones_are_dropped() -> None:
    history = [
        {"CreatedBy": "LABEL a=b", "Size": 0},
        {"CreatedBy": "RUN /bin/sh -c make # buildkit", "Size": 20},
        {"CreatedBy": "ADD rootfs", "Size": 100},
    ]
    assert image_layers(history) == (
        ImageLayer(created_by="ADD rootfs", size=100),
        ImageLayer(created_by="RUN /bin/sh -c make # buildkit", size=20),
    )


@pytest.mark.parametrize(
    ("components", "found"),
    [
        ([{"Name": "runc", "Version": "1.1.5"}, {"Name": "docker-init", "Version": "0.19.0"}], True),
        ([{"Name": "docker-init", "Version": ""}], False),
        ([{"Name": "docker-init", "Version": "N/A"}], False),
        ([{"Name": "Podman Engine", "Version": "4.3.1"}], False),
        (None, False),
    ],
)
def test_an_engine_has_an_init_if_it_states_its_version(components: object, *, found: bool) -> None:
    assert has_init({"Components": components}) is found
