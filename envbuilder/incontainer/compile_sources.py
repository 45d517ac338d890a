"""Compile Python sources with the running interpreter, without access to files and network.

Standard library only, syntax of Python 3.5: it runs on the interpreter of an image. Standard input and output are
frames: a line `<bytes of the path> <bytes of the content>`, the path, the content. The input has sources, each with
its path in the image; the output has, in any order, the bytecode of each that can be compiled.

The bytecode of a source does not depend on what was compiled before, nor by which process: so several processes share
the work. (It may depend on the modules that this program imports, which are always the same.)

Its flags disable the check of the source (PEP 552, https://peps.python.org/pep-0552/); Python 3.6 has no such flags,
so it stores the source's time.

Usage: `python compile_sources.py TIME PROCESSES`
"""

import importlib.util
import marshal
import os
import shutil
import sys
import tempfile
import traceback
import warnings

UNCHECKED = 1


def compiled(path, source, epoch):
    """Return the content of a .pyc file; None for a source that this Python cannot compile, or not reproducibly."""
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, UnicodeError, RecursionError, MemoryError, OverflowError):
        return None
    # Before Python 3.11 bytecode tells which of its objects are in use elsewhere: another reference to each makes all
    # of them so. Source: w_ref of https://github.com/python/cpython/blob/3.10/Python/marshal.c
    kept = []
    if sys.version_info < (3, 11) and not _keep_all(code, kept):
        return None
    body = marshal.dumps(code)
    source_hash = getattr(importlib.util, "source_hash", None)
    if source_hash is not None:
        return importlib.util.MAGIC_NUMBER + _number(UNCHECKED) + source_hash(source) + body
    return importlib.util.MAGIC_NUMBER + _number(epoch) + _number(len(source)) + body


def _keep_all(constant, kept):
    """Add everything that is written with a constant to a list.

    Returns:
        False if a set among them is written in another order in each process: in its memory order, which for None
        depends on the address where the program was loaded.
    """
    kept.append(constant)
    if isinstance(constant, frozenset) and any(_hangs_on_an_address(each) for each in constant):
        return False
    if isinstance(constant, (tuple, frozenset)):
        return all([_keep_all(each, kept) for each in constant])
    if hasattr(constant, "co_consts"):
        kept.extend((constant.co_code, constant.co_filename, constant.co_name, constant.co_lnotab))
        groups = (
            constant.co_consts,
            constant.co_names,
            constant.co_varnames,
            constant.co_freevars,
            constant.co_cellvars,
        )
        return all([_keep_all(each, kept) for each in groups])
    return True


def _hangs_on_an_address(constant):
    if isinstance(constant, (tuple, frozenset)):
        return any(_hangs_on_an_address(each) for each in constant)
    return constant is None or constant is Ellipsis


def _number(value):
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def _sources(frames):
    """Yield path and content of each frame."""
    while True:
        head = frames.readline().split()
        if not head:
            return
        yield frames.read(int(head[0])), frames.read(int(head[1]))


def _compile_all(sources, epoch, answers):
    for path, source in sources:
        pyc = compiled(path.decode("utf-8", "surrogateescape"), source, epoch)
        if pyc is not None:
            answers.write(b"%d %d\n" % (len(path), len(pyc)))
            answers.write(path)
            answers.write(pyc)
    answers.flush()


def _started(sources, epoch, answers):
    """Compile sources in another process; return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        _compile_all(sources, epoch, answers)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def main():
    """Compile frame after frame."""
    warnings.simplefilter("ignore")
    epoch, processes = int(sys.argv[1]), int(sys.argv[2])
    # Strings of one character exist once; bytecode tells which of them have been a name.
    for number in range(256):
        sys.intern(chr(number))
    sources = list(_sources(sys.stdin.buffer))
    answers = sys.stdout.buffer
    others = [tempfile.TemporaryFile() for _ in range(1, processes)]
    # Every n-th one: they are in the order of their size.
    children = [_started(sources[number::processes], epoch, other) for number, other in enumerate(others, 1)]
    _compile_all(sources[::processes], epoch, answers)
    for child, other in zip(children, others):
        if os.waitpid(child, 0)[1]:
            sys.exit("a process that compiles sources has failed")
        other.seek(0)
        shutil.copyfileobj(other, answers)
    answers.flush()


if __name__ == "__main__":
    main()
