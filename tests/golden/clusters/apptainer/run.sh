#!/bin/bash
# Check this machine, then run a program in the image: ./run.sh PROGRAM.py [ARGUMENT ...]
# Image of tf-2.15-cuda12.2: TensorFlow 2.15.1, CUDA 12.2, cuDNN 8.9
# Written by `envbuilder cluster apptainer` from the lock sha256:1453983c5843027914b9714bd8d35ff3c34a973dd6b04fd27d79cb8f5a5ca2ce.
# tf-2.15-cuda12.2 runs on x86_64 nodes with AVX: GPUs of compute capability 5.0, 5.2, 6.0, 6.1, 7.0 with driver
# 525.60.13 or later, before 581; GPUs of compute capability 7.5, 8.0, 8.6, 8.9 with driver 525.60.13 or later;
# GPUs of compute capability 9.0 with driver 530.30.02 or later.
set -euo pipefail
files=$(dirname "$(realpath "$0")")
if [ $# = 0 ]; then
    echo "error: no program: run.sh PROGRAM.py [ARGUMENT ...]" >&2
    exit 2
fi
mkdir -p envbuilder-facts
# Driver, GPUs and TensorFlow are checked before anything is trained.
if ! "$files/in-image" /opt/venv/bin/python "$files/node-check.py" --gpus 1 --save "$PWD/envbuilder-facts"; then
    echo "error: this machine does not run the image, see above: no training was started" >&2
    exit 1
fi
exec "$files/in-image" /opt/venv/bin/python "$@"
