"""One worker of a check across several machines: meet the others, all-reduce and train together, print facts as JSON.

    python worker.py [--workers HOST:PORT,... --index N] [--port PORT] [--wait SECONDS] [--limit SECONDS]
                     [--facts DIRECTORY] [--require-result] [--end-with-input]

Run it once on each machine, in the image, at the same time. The workers come from --workers and --index, else from
TF_CONFIG, else from the variables of Slurm, for a step that srun started (first port: --port).

This file stands alone: standard library only until it starts TensorFlow in a child process, and syntax that CPython 2.7
and 3.5 to 3.13 all run. It is joined from the modules in envbuilder/incontainer/multi_node, and a few of the probe. It
says on standard error what it sees; what the facts of all workers mean is decided by `envbuilder multi-node check`.

1. Before TensorFlow: each worker listens on its own port, resolves the name of each other worker, connects to its port,
   and exchanges who it is. So it sees which name, port, route or version is wrong. The connections stay open: they show
   when a worker ends.
2. When all have met, TensorFlow takes over the port: tf.distribute.MultiWorkerMirroredStrategy, an all-reduce of known
   numbers in three sizes, the same training with one worker and with all of them.

The answer is {"schema": 1, "kind": "multi-node-worker", "seconds": S, "facts": {NAME: FACT}, ...}, where a FACT is
either {"ok": true, "seconds": S, "value": ...} or {"ok": false, "seconds": S, "error": {"type", "message", "trace"}}.
Exit status 0 means "I could look", whatever was seen; with --require-result, 1 if a check fails.
"""
