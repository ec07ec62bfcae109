#!/usr/bin/env python3
"""Runs the commands of documents, and compares what they print with what the documents say they print.

    run_documents.py [--show] docs/PAGE.md ...     pages of the tree; --show prints what each block printed

The `sh` blocks of a page run in order in one shell (set -euo pipefail) and one fresh directory, which looks like the tree from its root: configs/,
examples/ and the like are links, shakespeare.txt is a small text. A `text` block right behind one holds lines of its output, in this order: figures
may differ, `...` stands for anything. In a `text exact` block figures count too, and lines between two `...` follow one another without a gap.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from fences import blocks_of  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("SHOAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BINARY = pathlib.Path(os.environ.get("SHOAL_BINARY_DIR", SOURCE / "build" / "release"))
LINKED = ("bench", "clusters", "configs", "course", "docs", "examples", "published", "shoal", "tests", "tools")
MARK = "\x1eblock "  # begins the line that the shell prints before a block
SECONDS = 600
# A figure with its unit, since a slow machine prints seconds where a fast one prints milliseconds.
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:k\b| ?(?:us|ms|s|m|h|bytes|[KMGT]i?B)\b)?", re.I)
DIGEST = re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,}\b")


def shape(line):
    """A line without its figures and without the width of its columns."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", DIGEST.sub("#", line))).strip()


def parts_of(lines):
    """The runs of lines between lines of dots."""
    parts = [[]]
    for line in lines:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line.rstrip())
    return parts


def first_missing(shown, printed):
    """The first line of `shown` that `printed` does not have behind the ones before it, or None."""
    place = 0
    printed = [shape(line) for line in printed]
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        if shape(line) not in printed[place:]:
            return line
        place = printed.index(shape(line), place) + 1
    return None


def first_differing(shown, printed):
    """Likewise to the letter: each part between dots is one piece of the output. A block without dots is all of it."""
    printed = [line.rstrip() for line in printed]
    parts = parts_of(shown)
    if len(parts) == 1:
        while printed and not printed[-1]:
            printed.pop()
        pairs = zip(parts[0] + [None] * len(printed), printed + [None] * len(parts[0]))
        return next((left if left is not None else f"(not shown) {right}" for left, right in pairs if left != right), None)
    place = 0
    for part in parts:
        starts = (at for at in range(place, len(printed) - len(part) + 1) if printed[at:at + len(part)] == part)
        place = next(starts, None)
        if place is None:
            return f"{part[0]} (and the {len(part) - 1} lines behind it)"
        place += len(part)
    return None


def script_of(blocks):
    lines = ["set -euo pipefail", "shopt -s inherit_errexit"]
    for number, block in enumerate(blocks):
        lines += [f"printf '\\n{MARK}%d\\n' {number}", *block.lines]
    return "\n".join(lines) + "\n"


def outputs_of(text, count):
    """What each block printed; None for those that were not reached."""
    outputs = [None] * count
    for piece in text.split(MARK)[1:]:
        number, _, rest = piece.partition("\n")
        outputs[int(number)] = rest.split("\n")
    return outputs


def make_scratch(directory):
    for name in LINKED:
        (directory / name).symlink_to(SOURCE / name)
    # A text that does not change with the next commit, so that what it trains to can be shown.
    shutil.copy(SOURCE / "LICENSE", directory / "shakespeare.txt")
    (directory / ".home").mkdir()


def environment_of(directory):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHOAL_", "SLURM_", "PMI_", "OMPI_"))}
    return kept | {"PATH": f"{BINARY}:{kept['PATH']}", "HOME": str(directory / ".home"), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def run(script, directory):
    """Exit code and output of a script; it and what it started are gone afterwards."""
    with open(directory / ".home" / "output", "w+b") as output:
        child = subprocess.Popen(["bash", "-c", script], cwd=directory, env=environment_of(directory), stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            code = f"none within {SECONDS} s"
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def problems_of(page, show):
    """What is wrong with a page, each problem with its line."""
    blocks = blocks_of((SOURCE / page).read_text())
    runs = [block for block in blocks if block.runs]
    with tempfile.TemporaryDirectory(prefix="shoal-docs-") as scratch:
        directory = pathlib.Path(scratch).resolve()
        make_scratch(directory)
        code, text = run(script_of(runs), directory)
    outputs = outputs_of(text, len(runs))
    if show:
        for block, output in zip(runs, outputs):
            print(f"---- {page}:{block.line}", *(output or ["not reached"]), sep="\n")
    if code != 0:
        last = max((at for at, output in enumerate(outputs) if output is not None), default=0)
        yield f"{page}:{runs[last].line}: exit code {code}\n" + "\n".join(f"    {line}" for line in (outputs[last] or text.split("\n"))[-30:])
        return
    for block in blocks:
        if block.info not in ("text", "text exact") or block.follows is None or not block.follows.runs:
            continue
        printed = outputs[runs.index(block.follows)]
        missing = (first_differing if block.info == "text exact" else first_missing)(block.lines, printed)
        if missing is not None:
            yield f"{page}:{block.line}: not printed: {missing}\n" + "\n".join(f"    {line}" for line in printed)


def main(words):
    failed = False
    for page in (word for word in words if word != "--show"):
        began = time.monotonic()
        found = list(problems_of(page, "--show" in words))
        for problem in found:
            print(problem)
        print(f"{page}: {'FAILED' if found else 'as it says'}, {time.monotonic() - began:.1f} s")
        failed |= bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
