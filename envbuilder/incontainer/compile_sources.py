"""Compile Python sources with the interpreter that runs this, and nothing else: no files, no network.

Standard library only, syntax of Python 3.5: it runs on the interpreter of an image. Standard input and output are
frames: a line `<bytes of the path> <bytes of the content>`, the path, the content. In come sources under the path that
they have in the image; out comes, in the same order, the bytecode of each that can be compiled.

The bytecode is a function of path, source and interpreter alone. Its flags say that the source is not to be looked at
(PEP 552); Python 3.6 knows no such flags, there it names the time of the source, which is given as the only argument.
"""

import importlib.util
import marshal
import sys
import warnings

UNCHECKED = 1


def compiled(path, source, epoch):
    """Content of a .pyc file; None for a source that this Python cannot compile, or not twice in the same way."""
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
    """Whether all sets among the constants are written in the same order in every process.

    Before Python 3.11 a set was written as it lay in memory, which for None depends on the address where the program
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
