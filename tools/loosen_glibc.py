#!/usr/bin/env python3
"""Lets a library load on an older glibc than it was linked with, where what it needs of the newer one is defined elsewhere.

    tools/loosen_glibc.py LIBRARY GLIBC_2.36 GLIBC_2.34      what it needs of the first version, it then needs of the second

Debian 12's libstdc++ needs glibc 2.36 for one function, arc4random, which our executables define (app/old_glibc.cpp). The file
is changed in place: one entry of its table of needed versions gets the name of another.
"""
import pathlib
import struct
import sys

SHT_GNU_VERNEED = 0x6FFFFFFE


def sections_of(data):
    """Yields type, offset and link of each section of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit("not a 64-bit little-endian ELF file")
    table, = struct.unpack_from("<Q", data, 0x28)
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    for number in range(count):
        _, kind, _, _, offset, _, link = struct.unpack_from("<IIQQQQI", data, table + number * entry)
        yield kind, offset, link


def chain(data, first, form, next_field):
    """Yields the offset and fields of each entry of a list whose entries say how far the next one is."""
    at = first
    while True:
        fields = struct.unpack_from(form, data, at)
        yield at, fields
        if not fields[next_field]:
            return
        at += fields[next_field]


def needed_versions(data):
    """Returns, by name, the offset of each entry with its hash and the place of its name."""
    sections = list(sections_of(data))
    found = {}
    for kind, offset, link in sections:
        if kind != SHT_GNU_VERNEED:
            continue
        names = sections[link][1]
        for need, (_, _, _, first, _) in chain(data, offset, "<HHIII", 4):
            for at, (hashed, _, _, name, _) in chain(data, need + first, "<IHHII", 4):
                text = bytes(data[names + name:data.index(b"\0", names + name)]).decode()
                found[text] = (at, hashed, name)
    return found


def main():
    file, newer, older = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    data = bytearray(file.read_bytes())
    versions = needed_versions(data)
    if newer in versions:
        at = versions[newer][0]
        _, hashed, name = versions[older]
        struct.pack_into("<I", data, at, hashed)
        struct.pack_into("<I", data, at + 8, name)
        file.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
