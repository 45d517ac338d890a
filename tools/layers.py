"""Write `matrices/layers.yaml` from what was assembled: `python -m tools.layers STORE…`.

Build rows with `--engine assemble` first; layers that several Pythons or bases make different are all kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

from envbuilder.image.base.provided_libraries import PACKAGES
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.layers.shipped_digests import dump_layers, load_layers
from envbuilder.oci.store import Store

FILE = Path(__file__).parents[1] / "matrices" / "layers.yaml"
_SHARED = ("cuda.", "framework.", "packages.", "links")


def main() -> None:
    """Add the layers of some stores to the file."""
    known: dict[str, LayerRecord] = load_layers(FILE.read_text(encoding="utf-8"), str(FILE)) if FILE.is_file() else {}
    for folder in sys.argv[1:]:
        records = Records(store=Store(folder=Path(folder)))
        for kept in records.images():
            for layer in kept.image.layers:
                record = records.layer(layer.key)
                if layer.id.startswith(_SHARED) and record and record.packed.digest == layer.blob.digest:
                    # One that was there already may come from the file itself, with less than was known of it.
                    known.setdefault(layer.key, record)
    FILE.write_text(dump_layers(known, PACKAGES), encoding="utf-8")


if __name__ == "__main__":
    main()
