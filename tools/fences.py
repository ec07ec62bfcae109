"""Fenced blocks of a Markdown page, as tools/check_docs.py, tests/docs/run_documents.py and tools/site/build.py read them.

    ```sh                        commands that CI executes
    ```sh elsewhere: WHERE       commands that it executes elsewhere, or why nothing here can
    ```text                      a drawing, or the output of the sh block right before it, figures aside
    ```text exact                the same, figures included
"""
import dataclasses
import re

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>.*)$")
LANGUAGES = {"sh", "text", "yaml", "cpp", "json", "python", "cmake"}


@dataclasses.dataclass(eq=False)
class Block:
    info: str
    line: int  # of its opening fence, from 1
    lines: list
    follows: "Block | None"  # the block that ended right before this one, with nothing but empty lines between

    @property
    def runs(self):
        return self.info == "sh"

    @property
    def elsewhere(self):
        """Where the commands of this block run instead; None when they run here."""
        found = re.fullmatch(r"sh elsewhere: (.+)", self.info)
        return found.group(1) if found else None


def blocks_of(text):
    """All fenced blocks in order. A fence that is never closed ends with the page."""
    blocks, open_block, ticks, indent, previous = [], None, "", 0, None
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if open_block is None:
            if found:
                open_block = Block(found["info"].strip(), number, [], previous)
                ticks, indent = found["ticks"], len(found["indent"])
            elif line.strip():
                previous = None
        elif found and not found["info"].strip() and len(found["ticks"]) >= len(ticks):
            blocks.append(open_block)
            previous, open_block = open_block, None
        else:
            open_block.lines.append(line[indent:] if not line[:indent].strip() else line)
    if open_block is not None:
        blocks.append(open_block)
    return blocks


def problem_with(block, exists):
    """What is wrong with the info string, or None; exists(path) says whether the tree has a path."""
    info = block.info
    if not info:
        return "has no info string: sh, sh elsewhere: WHERE, text, yaml, cpp, json, ..."
    if block.elsewhere is not None:
        where = block.elsewhere.strip()
        if " " not in where and not exists(where):
            return f"runs elsewhere, in {where}, which is not there"
        return None
    if info == "text exact" or info in LANGUAGES:
        return None
    return f"has the info string '{info}', which is none of ours"
