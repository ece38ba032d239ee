# SPDX-License-Identifier: MIT
#
# Writes cpio archives in the "newc" format (magic 070701) the way the kernel
# wants them: the data of every file starts on a 4096-byte boundary of the
# archive, reached by padding the name field with NULs (namesize counts them),
# so that pages of a file can be mapped straight from the boot module.
# Deterministic: no times, owners or host inode numbers get in.
"""newc archive writer shared by tools/mkarchive and tools/vm."""

import stat

ALIGN = 4096
HEADER = 110


class Archive:
    """One archive under construction; paths are absolute guest paths."""

    def __init__(self):
        self.nodes = {}

    @staticmethod
    def _clean(path):
        parts = [p for p in path.split("/") if p not in ("", ".")]
        if not parts or ".." in parts:
            raise ValueError("bad guest path: %r" % path)
        return "/".join(parts)

    def _put(self, path, mode, data):
        path = self._clean(path)
        old = self.nodes.get(path)
        if old and stat.S_ISDIR(old[0]) != stat.S_ISDIR(mode):
            raise ValueError("/%s is both a directory and a file" % path)
        parent = path.rpartition("/")[0]
        while parent:
            if parent not in self.nodes:
                self.nodes[parent] = (stat.S_IFDIR | 0o755, b"")
            elif not stat.S_ISDIR(self.nodes[parent][0]):
                raise ValueError("/%s is both a directory and a file" % parent)
            parent = parent.rpartition("/")[0]
        self.nodes[path] = (mode, data)

    def add_file(self, path, data, perm=0o644):
        """A regular file with these bytes; a later one replaces an earlier."""
        self._put(path, stat.S_IFREG | perm, data)

    def add_dir(self, path, perm=0o755):
        """An empty directory."""
        self._put(path, stat.S_IFDIR | perm, b"")

    def add_link(self, path, target):
        """A symbolic link; target is written as it is."""
        self._put(path, stat.S_IFLNK | 0o777, target.encode("utf-8", "surrogateescape"))

    @staticmethod
    def _header(ino, mode, size, namesize):
        fields = (ino, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, namesize, 0)
        return b"070701" + b"".join(b"%08x" % f for f in fields)

    def encode(self):
        """The archive as bytes: sorted by path, so parents precede children."""
        out = bytearray()
        entries = sorted(self.nodes.items(), key=lambda kv: kv[0].split("/"))
        for ino, (path, (mode, data)) in enumerate(entries, 1):
            name = path.encode("utf-8", "surrogateescape") + b"\0"
            if stat.S_ISREG(mode) and data:
                name += bytes(-(len(out) + HEADER + len(name)) % ALIGN)
            out += self._header(ino, mode, len(data), len(name)) + name
            out += bytes(-len(out) % 4)
            out += data
            out += bytes(-len(out) % 4)
        out += self._header(0, 0, 0, 11) + b"TRAILER!!!\0"
        out += bytes(-len(out) % 512)
        return bytes(out)
