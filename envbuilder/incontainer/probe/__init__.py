"""Look at one Python environment with TensorFlow and print what is there as one JSON document.

    python probe.py [--request FILE] [--hardware]

This file stands alone: standard library only, and syntax that CPython 2.7 and 3.5 to 3.13 all run, because it is put
unchanged into images of every age. It is joined from the modules in envbuilder/incontainer/probe. It has no opinion:
whether a fact is good or bad is decided elsewhere.

The request is JSON; every field may be left out:

    {"schema": 1, "sonames": [], "optional_sonames": [], "train": true, "gpu": false, "hardware": false,
     "compute": true, "framework": true, "limit": 600, "budgets": {STEP: SECONDS}}

`hardware` (driver, NVML, the host around them, CUDA libraries on every GPU; no framework) is true where `gpu` is. With
`--hardware`, or with `framework` false, only that is looked at, and TensorFlow is not touched. With `compute` false
nothing is computed on a GPU. The only thing that is written is an empty file in HOME and one in the directory of
temporary files, to see whether they can be written and locked; both are removed at once.

The answer is {"schema": 1, "request": {...}, "seconds": S, "facts": {NAME: FACT}}, where a FACT is either
{"ok": true, "seconds": S, "value": ...} or {"ok": false, "seconds": S, "error": {"type", "message", "trace"}}.
A fact that nobody asked for is not there. Exit status 0 means "I could look", whatever was seen.

What can crash or hang (foreign libraries, TensorFlow) runs in a child process that reports each fact as soon as it has
it. A crash is a fact too (type "Signal"), and so is a step that takes longer than its budget ("Timeout"): a new child
goes on with the next step, so that neither loses what was seen or silences the rest.
"""
