# SPDX-License-Identifier: MIT
#
# What a dynamic program needs besides itself: its interpreter and, found the
# way the dynamic loader finds them, its libraries. Reads ELF files itself: no
# program is run for it, so files of any origin can be looked at.
"""The files that a dynamic ELF program takes along, as (guest path, host path)."""

import os
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RPATH, DT_RUNPATH = 1, 5, 10, 15, 29

# Where loaders look without a cache; the guest has none.
SYSTEM_DIRS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
MUSL_DIRS = ("/lib", "/usr/local/lib", "/usr/lib")


class ElfError(Exception):
    """A library is missing, or a file that should be ELF is broken."""


class Elf:
    """The parts of an ELF64 file that a loader looks at first."""

    def __init__(self, data):
        self.data = data
        self.interp = None
        self.needed = []
        self.runpath = []
        loads = []
        dynamic = b""
        phoff, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        for i in range(count):
            kind, _, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, phoff + i * size)
            if kind == PT_LOAD:
                loads.append((vaddr, off, filesz))
            elif kind == PT_DYNAMIC:
                dynamic = data[off:off + filesz]
            elif kind == PT_INTERP:
                self.interp = os.fsdecode(data[off:off + filesz].rstrip(b"\0"))
        entries = list(struct.iter_unpack("<QQ", dynamic[:len(dynamic) // 16 * 16]))
        strings = dict(entries).get(DT_STRTAB)
        if strings is None:
            return
        base = next((off + strings - vaddr for vaddr, off, filesz in loads
                     if vaddr <= strings < vaddr + filesz), None)
        if base is None:
            raise ElfError("its string table lies outside the file")
        for tag, value in entries:
            text = os.fsdecode(data[base + value:data.index(b"\0", base + value)]) if tag in (
                DT_NEEDED, DT_RPATH, DT_RUNPATH) else ""
            if tag == DT_NEEDED:
                self.needed.append(text)
            elif text:
                self.runpath += text.split(":")


def read_elf(path):
    """The Elf of a file, or None if it is none for this machine."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:5] != b"\x7fELF\x02" or data[18:20] != b"\x3e\0":
        return None
    try:
        return Elf(data)
    except (struct.error, ValueError, ElfError) as e:
        raise ElfError("%s: broken ELF file: %s" % (path, e)) from e


def find(name, origin, runpath, system):
    """The host path of library NAME."""
    if "/" in name:
        return name
    for folder in [p.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin) for p in runpath] + list(system):
        path = os.path.join(folder, name)
        if os.path.exists(path) and read_elf(path):
            return path
    return None


def companions(host, guest):
    """
    Interpreter and libraries of the program HOST, which lies at GUEST in the
    machine: {guest path: host path}, links resolved. A library that was found
    beside the program ($ORIGIN) lies beside it in the guest too; all others
    keep their own paths. Empty if the file is no dynamic ELF program.
    """
    elf = read_elf(host)
    if not elf:
        return {}
    out = {}
    system = SYSTEM_DIRS
    if elf.interp:
        if not os.path.exists(elf.interp):
            raise ElfError("%s: its interpreter %s is not on this machine" % (host, elf.interp))
        out[elf.interp] = os.path.realpath(elf.interp)
        if "musl" in os.path.basename(elf.interp):
            system = MUSL_DIRS
    todo = [(elf, os.path.realpath(host), guest, [])]
    while todo:
        elf, path, at, inherited = todo.pop()
        runpath = elf.runpath + inherited
        here = os.path.dirname(path)
        for name in elf.needed:
            if system is MUSL_DIRS and name.startswith("libc."):
                continue  # musl's loader is its libc
            found = find(name, here, runpath, system)
            if not found:
                raise ElfError("%s needs %s, which is in none of %s" % (path, name, " ".join(
                    runpath + list(system))))
            inside = os.path.relpath(found, here)
            beside = any("ORIGIN" in p for p in runpath) and os.path.dirname(found) not in system
            target = os.path.normpath(os.path.join(os.path.dirname(at), inside)) if beside else found
            if target in out:
                continue
            out[target] = os.path.realpath(found)
            todo.append((read_elf(found), found, target, [p for p in elf.runpath if "ORIGIN" not in p]))
    return out
