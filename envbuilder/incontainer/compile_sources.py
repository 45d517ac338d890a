"""Compile Python sources with the running interpreter, without access to files and network.

Standard library only, syntax of Python 3.5: it runs on the interpreter of an image. Standard input and output are
frames: a line `<bytes of the path> <bytes of the content>`, the path, the content. The input has sources, each with
its path in the image; the output has, in the same order, the bytecode of each that can be compiled.

The bytecode depends on path, source and interpreter alone. Its flags disable the check of the source
(PEP 552, https://peps.python.org/pep-0552/); Python 3.6 has no such flags, so it stores the source's time, the only
argument.
"""

import importlib.util
import marshal
import sys
import warnings

UNCHECKED = 1


def compiled(path, source, epoch):
    """Return the content of a .pyc file; None for a source that this Python cannot compile, or not reproducibly."""
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, UnicodeError, RecursionError, MemoryError, OverflowError):
        return None
    if not _has_an_order(code):
        return None
    body = marshal.dumps(code)
    source_hash = getattr(importlib.util, "source_hash", None)
    if source_hash is not None:
        return importlib.util.MAGIC_NUMBER + _number(UNCHECKED) + source_hash(source) + body
    return importlib.util.MAGIC_NUMBER + _number(epoch) + _number(len(source)) + body


def _has_an_order(constant):
    """Return True if all sets among the constants are written in the same order in every process.

    Before Python 3.11 a set was written in its memory order, which for None depends on the address where the program
    was loaded.
    """
    if sys.version_info >= (3, 11):
        return True
    if isinstance(constant, frozenset):
        return not any(_hangs_on_an_address(each) for each in constant)
    if isinstance(constant, tuple):
        return all(_has_an_order(each) for each in constant)
    if hasattr(constant, "co_consts"):
        return all(_has_an_order(each) for each in constant.co_consts)
    return True


def _hangs_on_an_address(constant):
    if isinstance(constant, (tuple, frozenset)):
        return any(_hangs_on_an_address(each) for each in constant)
    return constant is None or constant is Ellipsis


def _number(value):
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def main():
    """Compile frame after frame."""
    warnings.simplefilter("ignore")
    epoch = int(sys.argv[1])
    frames, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = frames.readline().split()
        if not head:
            break
        path = frames.read(int(head[0]))
        pyc = compiled(path.decode("utf-8", "surrogateescape"), frames.read(int(head[1])), epoch)
        if pyc is not None:
            answers.write(b"%d %d\n" % (len(path), len(pyc)))
            answers.write(path)
            answers.write(pyc)
    answers.flush()


if __name__ == "__main__":
    main()
