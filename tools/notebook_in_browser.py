"""Train in a notebook in a real browser: `python -m tools.notebook_in_browser ENV|LOCK PICTURE.png [ENGINE]`.

Starts `envbuilder run --jupyter` in an empty directory with a notebook, opens its link in headless Chromium, runs all
cells and takes a picture. Exit status 1 if the notebook does not say that it has trained. Needs `playwright` in this
interpreter, and `chromium` on the search path: playwright cannot download its own browser everywhere.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

_TRAINED = "the loss fell below a tenth"
_IMPORT = """\
import os, sys
import numpy as np
import tensorflow as tf
print('TensorFlow', tf.__version__, 'on Python', sys.version.split()[0], 'at', sys.executable)
print('memory policy of the kernel:', os.environ.get('ENVBUILDER_MEMORY', 'all'))"""
_TRAIN = """\
inputs = np.random.RandomState(0).rand(512, 4).astype('float32')
wanted = inputs.sum(axis=1)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation='relu', input_shape=(4,)),
    tf.keras.layers.Dense(1),
])
model.compile('adam', 'mse')
losses = model.fit(inputs, wanted, epochs=40, verbose=0).history['loss']
print('loss %.4f to %.4f' % (losses[0], losses[-1]))"""
_SAVE = """\
assert losses[-1] < losses[0] / 10
model.save('model.h5')
print('the loss fell', 'below a tenth')"""
_SECONDS_TO_TRAIN = 300.0


def main(arguments: Sequence[str]) -> int:
    """Run the notebook; see the module."""
    target, picture, *engine = arguments
    # A job in the background of a shell ignores SIGINT, and so would the server that is ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="envbuilder-notebook-") as name:
        folder = Path(name)
        (folder / "train.ipynb").write_text(json.dumps(_notebook()), encoding="utf-8")
        if Path(target).is_file():
            target = str(Path(target).resolve())
        command = [sys.executable, "-m", "envbuilder", "run", "--jupyter", "--engine", *(engine or ["auto"]), target]
        began = time.monotonic()
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            try:
                link = next(iter(server.stdout or ()), "").strip()
                if not link:
                    return 1
                print(f"answers after {time.monotonic() - began:.1f} s: {link.partition('token=')[0]}token=…")
                done = _run_all(link.replace("/lab?", "/lab/tree/train.ipynb?"), Path(picture))
                owner = (folder / "model.h5").stat() if done else None
                if owner:
                    print(f"model.h5: {owner.st_size} bytes of uid {owner.st_uid}; this process has {os.geteuid()}")
            finally:
                server.send_signal(signal.SIGINT)
                server.wait()  # while its output has a reader: without one, `run` kills the server
        print(f"ended with status {server.returncode}; picture: {picture}")
        return 0 if done and server.returncode == 0 else 1


def _run_all(link: str, picture: Path) -> bool:
    """Run all cells of a notebook in a browser; return whether it says that it has trained."""
    # Not a dependency of this project.
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        try:
            page.goto(link, timeout=120_000)
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
            # The status bar; JupyterLab 2 ignores a request to run cells before its kernel answers.
            page.wait_for_selector("text=/Python 3.*Idle/", timeout=120_000)
            page.locator("text='Run' >> visible=true").first.click()
            page.locator("text='Run All Cells' >> visible=true").first.click()
            page.wait_for_selector(f"text={_TRAINED}", timeout=_SECONDS_TO_TRAIN * 1000)
        except api.TimeoutError as error:
            print(str(error).splitlines()[0], file=sys.stderr)
            return False
        else:
            return True
        finally:
            page.screenshot(path=str(picture))
            browser.close()


def _notebook() -> dict[str, object]:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in (_IMPORT, _TRAIN, _SAVE)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 2}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
