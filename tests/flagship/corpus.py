#!/usr/bin/env python3
"""Makes one file of shuffled documents from plain texts, the same bytes every time.

    tests/flagship/corpus.py OUTPUT.jsonl TEXT...

A document is whole paragraphs of at least 2,000 characters together: a page of a book.
"""
import json
import pathlib
import random
import re
import sys

PAGE = 2000


def decoded(path):
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252")
    return text.replace("\r\n", "\n")


def pages(text):
    page = ""
    for paragraph in re.split(r"\n\s*\n", text):
        page += paragraph.strip("\n") + "\n\n"
        if len(page) >= PAGE:
            yield page.strip()
            page = ""
    if page.strip():
        yield page.strip()


def main():
    output, *texts = map(pathlib.Path, sys.argv[1:])
    if not texts:
        sys.exit(__doc__)
    found = [page for path in sorted(texts) for page in pages(decoded(path))]
    random.Random(1).shuffle(found)
    with output.open("w") as file:
        for page in found:
            file.write(json.dumps({"text": page}) + "\n")
    print(f"{len(found)} pages, {sum(map(len, found))} characters")


if __name__ == "__main__":
    main()
