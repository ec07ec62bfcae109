#!/usr/bin/env python3
"""Writes shoal/data/tokenizer/unicode_runs.inc: the class of every code point, as runs.

    pip install unicodedata2==16.0.0
    tools/make_unicode_table.py >shoal/data/tokenizer/unicode_runs.inc

The version is pinned to the one that tiktoken 0.14 and tokenizers 0.23 have; it is part of every tokenizer's hash.
"""
import unicodedata2

VERSION = "16.0.0"
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
CLASS_OF_CATEGORY = {"Lu": "kUpper", "Lt": "kUpper", "Ll": "kLower", "Lm": "kCaseless", "Lo": "kCaseless",
                     "Mn": "kMark", "Mc": "kMark", "Me": "kMark", "Nd": "kNumber", "Nl": "kNumber", "No": "kNumber"}


def class_of(code_point):
    if code_point in WHITE_SPACE:
        return "kSpace"
    return CLASS_OF_CATEGORY.get(unicodedata2.category(chr(code_point)), "kOther")


def main():
    assert unicodedata2.unidata_version == VERSION, unicodedata2.unidata_version
    runs = []
    for code_point in range(0x110000):
        kind = class_of(code_point)
        if not runs or runs[-1][1] != kind:
            runs.append((code_point, kind))
    print(f"// Made by tools/make_unicode_table.py from Unicode {VERSION}: where each run of one class begins.")
    line = ""
    for first, kind in runs:
        entry = f"{{0x{first:X}, {kind}}},"
        if len(line) + 1 + len(entry) > 100:
            print(line)
            line = ""
        line += (" " if line else "") + entry
    print(line)


if __name__ == "__main__":
    main()
