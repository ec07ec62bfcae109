#!/usr/bin/env python3
"""Draws what commands printed as an SVG picture of a terminal, light or dark as the reader's system is.

    tools/terminal_picture.py OUT.svg [--title TEXT] <TRANSCRIPT

A line that begins with "$ " is a command. Nothing is added or changed: the text comes from standard input as it is.
"""
import argparse
import html
import pathlib
import sys

STYLE = """
  .paper { fill: #f6f8fa; stroke: #d0d7de } .text { fill: #1f2328 } .command { fill: #0550ae; font-weight: 600 } .title { fill: #656d76 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .command { fill: #79c0ff } .title { fill: #8d96a0 }
  }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
"""
CHARACTER, LINE, MARGIN, HEAD = 7.9, 19, 18, 34


def drawn(lines, title):
    width = 2 * MARGIN + CHARACTER * max(map(len, [*lines, title]))
    height = HEAD + MARGIN + LINE * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{html.escape(title)}">',
           f"<style>{STYLE}</style>",
           f'<rect class="paper" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>',
           f'<text class="title" x="{MARGIN}" y="22">{html.escape(title)}</text>']
    for number, line in enumerate(lines):
        kind = "command" if line.startswith("$ ") else "text"
        out.append(f'<text class="{kind}" x="{MARGIN}" y="{HEAD + LINE * number + 14}" xml:space="preserve">{html.escape(line)}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--title", default="shoal")
    options = parser.parse_args()
    lines = [line.rstrip() for line in sys.stdin.read().expandtabs().splitlines()]
    options.out.write_text(drawn(lines, options.title))


if __name__ == "__main__":
    main()
