"""Minimal reader of ELF files."""

import mmap
import os
import struct
import sys


class Elf(object):
    """A 64-bit little-endian ELF file: dynamic symbols and search path."""

    DYNAMIC, DYNSYM = 6, 11
    NEEDED, RPATH, RUNPATH = 1, 15, 29

    def __init__(self, path):
        self.folder = os.path.dirname(os.path.abspath(path))
        with open(path, "rb") as handle:
            self.data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        offset, = struct.unpack("<Q", self.data[40:48])
        size, count = struct.unpack("<HH", self.data[58:62])
        rows = [self.data[offset + size * index : offset + size * (index + 1)] for index in range(count)]
        self.sections = [struct.unpack("<IIQQQQIIQQ", row[:64]) for row in rows]

    def _bytes(self, section):
        return self.data[section[4] : section[4] + section[5]]

    def _tables(self, kind):
        """Return the content of each section of a kind, with the content of its string table."""
        return [
            (self._bytes(section), self._bytes(self.sections[section[6]]))
            for section in self.sections
            if section[1] == kind
        ]

    def defined(self, part):
        """Return the names of defined dynamic symbols that contain the given bytes, sorted."""
        names = set()
        for symbols, strings in self._tables(self.DYNSYM):
            places = {}
            found = strings.find(part)
            while found >= 0:
                start = strings.rfind(b"\0", 0, found) + 1
                end = strings.find(b"\0", found)
                places[start] = strings[start:end]
                found = strings.find(part, end)
            for start, name in places.items():
                if self._is_defined(symbols, struct.pack("<I", start)):
                    names.add(name.decode("ascii", "replace"))
        return sorted(names)

    @staticmethod
    def _is_defined(symbols, wanted):
        at = symbols.find(wanted)
        while at >= 0:
            if at % 24 == 0:
                return struct.unpack("<H", symbols[at + 6 : at + 8])[0] != 0
            at = symbols.find(wanted, at + 1)
        return False

    def _tagged(self, *tags):
        """Return the texts of the dynamic entries that have one of these tags, in their order."""
        found = []
        for entries, strings in self._tables(self.DYNAMIC):
            for at in range(0, len(entries) - 15, 16):
                tag, value = struct.unpack("<QQ", entries[at : at + 16])
                if tag in tags:
                    found.append(strings[value : strings.find(b"\0", value)].decode("utf-8", "replace"))
        return found

    def search_path(self):
        """Return the directories of RPATH and RUNPATH in order, with $ORIGIN replaced."""
        joined = self._tagged(self.RPATH, self.RUNPATH)
        return [os.path.normpath(self._origin(folder)) for each in joined for folder in each.split(":") if folder]

    def needed(self):
        """Return the libraries that it is linked against, in its order."""
        return self._tagged(self.NEEDED)

    def _origin(self, folder):
        return folder.replace("${ORIGIN}", self.folder).replace("$ORIGIN", self.folder)


def tensorflow_libraries():
    """Return shared objects of the installed TensorFlow, found without importing it, in the order of their loading."""
    names = (
        "libtensorflow_framework.so.2",
        "libtensorflow_framework.so.1",
        "libtensorflow_framework.so",
        "libtensorflow_cc.so.2",
        os.path.join("python", "_pywrap_tensorflow_internal.so"),
    )
    for entry in sys.path:
        for package in ("tensorflow", "tensorflow_core"):
            folder = os.path.join(entry, package)
            found = [os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))]
            if found:
                return found
    return []
