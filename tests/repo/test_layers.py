"""The digests of layers that ship with the catalog belong to the layers that rows have."""

from __future__ import annotations

import pytest

from envbuilder.image.base.provided_libraries import PACKAGES
from envbuilder.image.layers.shipped_digests import dump_layers, load_layers
from envbuilder.image.plan.keys import layer_key
from envbuilder.image.plan.layers import plan
from envbuilder.image.plan.plan import LayerKind
from envbuilder.lock.create import lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.lock.spec import Spec
from envbuilder.oci.images import LayerFormat
from tests.fakes.catalogs import real_catalog
from tests.fakes.ports import lock_ports
from tools.layers import FILE

TEXT = FILE.read_text(encoding="utf-8")
LAYERS = load_layers(TEXT, str(FILE))
CATALOG = real_catalog()
ROWS = [row.id for row in CATALOG.environments if row.cuda and row.framework.version.release >= (2, 4)]


def test_the_file_is_canonical() -> None:
    assert dump_layers(LAYERS, PACKAGES) == TEXT


@pytest.mark.parametrize("row", ROWS)
def test_the_large_layers_of_every_gpu_row_on_wheels_are_known(row: str) -> None:
    shipped = ClosureFolder(folder=FILE.parent / "locks")
    made = lock(CATALOG, Spec(environment=row, base="debian-bookworm"), lock_ports(shipped=shipped))
    planned = plan(made, digest(made))
    alone = [layer for layer in planned.of(LayerKind.CUDA, LayerKind.FRAMEWORK) if not layer.builds_from_source]
    unknown = [layer.id for layer in alone if layer_key(planned, layer, LayerFormat.GZIP_SPLICED) not in LAYERS]
    assert alone
    assert not unknown
