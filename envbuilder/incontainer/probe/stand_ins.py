"""Stand-ins: libraries that envbuilder compiles for proofs, in place of NVIDIA's."""

import os

STAND_IN_MARKER = b"envbuilder_stand_in"
LARGEST_STAND_IN = 1 << 20


def is_stand_in(path):
    """Return True if a library is a stand-in: a small file that defines the symbol of all stand-ins.

    The file is read, because a search for the symbol would find it in the dependencies of a real library too.
    """
    try:
        if os.path.getsize(path) > LARGEST_STAND_IN:
            return False
        with open(path, "rb") as stream:
            return STAND_IN_MARKER in stream.read()
    except (IOError, OSError):
        return False
