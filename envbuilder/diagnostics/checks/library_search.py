"""The loader's search for a library in an image, from the files alone.

Source: https://man7.org/linux/man-pages/man8/ld.so.8.html: RPATH or RUNPATH of the requiring library, LD_LIBRARY_PATH,
directories of ld.so.conf, default ones.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from envbuilder.diagnostics.checks.image_files import followed
from envbuilder.image.contents import ImageContent, LibraryFile

_DEFAULT = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib", "usr/local/lib")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The loader's view of one image.

    Attributes:
        directories: Directories searched for every library, relative paths.
        names: Base names of all files and links.
    """

    content: ImageContent
    directories: tuple[str, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, content: ImageContent) -> Search:
        """Return the view of the loader, with LD_LIBRARY_PATH of the image."""
        configured = [
            line.split("#")[0].strip().strip("/")
            for path, text in sorted(content.texts.items())
            if path.startswith("etc/ld.so.conf")
            for line in text.decode("utf-8", "replace").splitlines()
            if line.strip().startswith("/")
        ]
        own = [directory.strip("/") for directory in content.env.get("LD_LIBRARY_PATH", "").split(":") if directory]
        names = frozenset(path.rpartition("/")[2] for path in content.paths)
        return cls(content=content, directories=(*own, *configured, *_DEFAULT), names=names)

    def finds(self, name: str, library: LibraryFile) -> bool:
        """Return True if the loader finds a library that another one requires."""
        if "/" in name:
            return bool(followed(name.lstrip("/"), self.content.paths))
        origin = f"/{library.path.rpartition('/')[0]}"
        own = (directory.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for directory in library.search)
        places = [*(posixpath.normpath(directory).lstrip("/") for directory in own), *self.directories]
        return any(followed(f"{place}/{name}", self.content.paths) for place in places)

    def is_somewhere(self, name: str) -> bool:
        """Return True if a library of that name is anywhere in the image: another one may have loaded it before."""
        return name in self.names
