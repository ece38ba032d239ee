#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Makes executable files that execve() must refuse, or that must end only the process that ran
# them. usage: mkbad.py DIRECTORY
import os
import struct
import sys

PT_LOAD, PT_INTERP = 1, 3


def dynamic(interp):
    """A program that asks for this interpreter, named by the bytes of PT_INTERP."""
    return elf(phnum=2, phdrs=[(PT_INTERP, 4, 4096, 0x401000, len(interp), len(interp)),
                               (PT_LOAD, 5, 0, 0x400000, 8192, 8192)], body=interp.ljust(4096, b"\0"))


def elf(machine=62, kind=2, cls=2, entry=0x401000, phoff=64, phnum=1, phentsize=56, phdrs=None,
        body=b"\xf4" * 4096):
    head = struct.pack("<4sBBBBB7xHHIQQQIHHHHHH", b"\x7fELF", cls, 1, 1, 0, 0, kind, machine, 1,
                       entry, phoff, 0, 0, 64, phentsize, phnum, 0, 0, 0)
    if phdrs is None:
        phdrs = [(PT_LOAD, 5, 0, 0x400000, 8192, 8192)]
    table = b"".join(struct.pack("<IIQQQQQQ", t, f, off, va, va, fs, ms, 4096)
                     for t, f, off, va, fs, ms in phdrs)
    return (head + table).ljust(4096, b"\0") + body


REFUSED = {
    "empty": b"",
    "garbage": bytes(range(256)) * 8,
    "magic-only": b"\x7fELF",
    "half-header": elf()[:40],
    "wrong-machine": elf(machine=3),
    "relocatable": elf(kind=1),
    "no-headers": elf(phnum=0),
    "headers-outside": elf(phoff=1 << 40),
    "odd-header-size": elf(phentsize=12),
    "interpreter-without-end": dynamic(b"refused-garbage"),
    "interpreter-without-name": dynamic(b"\0"),
}
# Names an interpreter, relative to this directory, that is bad in the way the file name says.
INTERP = {
    "missing": dynamic(b"nowhere\0"),
    "directory": dynamic(b".\0"),
    "garbage": dynamic(b"refused-garbage\0"),
    "wrong-machine": dynamic(b"refused-wrong-machine\0"),
    "empty": dynamic(b"refused-empty\0"),
}
# Linux sees these only after the old image is gone: an error or a death by signal are both right.
DOOMED = {
    "kernel-address": elf(phdrs=[(PT_LOAD, 5, 0, 0xffffffff80000000, 8192, 8192)]),
    "wraps-around": elf(phdrs=[(PT_LOAD, 5, 0, 0xfffffffffffff000, 8192, 8192)]),
    "huge-memory": elf(phdrs=[(PT_LOAD, 6, 0, 0x400000, 8192, 1 << 60)]),
    "file-over-memory": elf(phdrs=[(PT_LOAD, 5, 0, 0x400000, 8192, 4096)]),
    "beyond-file": elf(phdrs=[(PT_LOAD, 5, 1 << 30, 0x400000, 8192, 8192)]),
    "entry-nowhere": elf(entry=0x10),
    "entry-kernel": elf(entry=0xffffffff80100000),
    "halts": elf(),
}


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for prefix, files in (("refused", REFUSED), ("doomed", DOOMED), ("interp", INTERP)):
        for name, data in files.items():
            path = os.path.join(out, "%s-%s" % (prefix, name))
            with open(path, "wb") as f:
                f.write(data)
            os.chmod(path, 0o755)


main()
