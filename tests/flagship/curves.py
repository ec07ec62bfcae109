#!/usr/bin/env python3
"""Draws the flagship run beside PyTorch's: losses, validation losses, layouts and faults, as an SVG for light and dark pages.

    tests/flagship/curves.py DIR docs/pictures/flagship.svg
"""
import csv
import json
import pathlib
import sys

from layouts import LAYOUTS

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 400, 52, 16, 56, 64
SMOOTH = 20  # steps whose mean is drawn
STYLE = """
text { font: 12px sans-serif; fill: #333 } .title { font-size: 14px; font-weight: bold } .axis { stroke: #999 } .grid { stroke: #ddd }
.ours { stroke: #0b6bcb; fill: none; stroke-width: 2 } .theirs { stroke: #d97706; fill: none; stroke-width: 2; stroke-dasharray: 5 4 }
.our-point { fill: #0b6bcb } .their-point { fill: none; stroke: #d97706; stroke-width: 2 } .fault { stroke: #c1121f; stroke-width: 1.5 }
.band { fill: #0b6bcb; opacity: 0.06 } .band.odd { opacity: 0.13 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .axis { stroke: #777 } .grid { stroke: #333 } .ours { stroke: #6cb2ff }
.our-point { fill: #6cb2ff } .theirs, .their-point { stroke: #f5b041 } .fault { stroke: #ff6b6b } }
"""


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def smoothed(rows):
    values = [float(row["loss"]) for row in rows]
    return [(i + 1, sum(values[max(0, i + 1 - SMOOTH):i + 1]) / min(i + 1, SMOOTH)) for i in range(len(values))]


class Plot:
    def __init__(self, steps, low, high):
        self.steps, self.low, self.high = steps, low, high

    def x(self, step):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * step / self.steps, 1)

    def y(self, loss):
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (self.high - loss) / (self.high - self.low), 1)

    def line(self, points, kind):
        return f'<polyline class="{kind}" points="' + " ".join(f"{self.x(step)},{self.y(loss)}" for step, loss in points) + '"/>'


def axes(plot):
    bottom = HEIGHT - BOTTOM
    for loss in range(int(plot.low) + 1, int(plot.high) + 1):
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{plot.y(loss)}" y2="{plot.y(loss)}"/>'
        yield f'<text x="{LEFT - 8}" y="{plot.y(loss) + 4}" text-anchor="end">{loss}</text>'
    for step in range(0, plot.steps + 1, 100):
        yield f'<text x="{plot.x(step)}" y="{bottom + 34}" text-anchor="middle">{step}</text>'
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    yield f'<text x="{WIDTH - RIGHT}" y="{bottom + 52}" text-anchor="end">steps</text>'


def layouts(plot):
    for number, (name, _, _) in enumerate(LAYOUTS):
        first, last = (plot.x(plot.steps * (number + more) // len(LAYOUTS)) for more in (0, 1))
        yield f'<rect class="band{" odd" if number % 2 else ""}" x="{first}" y="{TOP}" width="{last - first}" height="{HEIGHT - TOP - BOTTOM}"/>'
        yield f'<text x="{(first + last) / 2}" y="{TOP + 16}" text-anchor="middle">{name}</text>'


def drawing(directory):
    ours, theirs = rows_of(directory / "runs" / "flagship" / "metrics.csv"), rows_of(directory / "pytorch.csv")
    faults = [json.loads(line) for line in (directory / "faults.jsonl").read_text().splitlines()]
    curves = smoothed(ours), smoothed(theirs)
    losses = [loss for curve in curves for _, loss in curve] + [float(row["val_loss"]) for row in ours if row["val_loss"]]
    plot = Plot(len(ours), min(losses) - 0.2, max(losses) + 0.3)
    bottom = HEIGHT - BOTTOM
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="losses of the flagship run beside PyTorch">'
    yield f"<style>{STYLE}</style>"
    yield f'<text class="title" x="{LEFT}" y="20">{len(ours)} steps through {len(faults)} faults and three layouts, beside PyTorch undisturbed</text>'
    yield f'<line class="ours" x1="{LEFT}" x2="{LEFT + 28}" y1="38" y2="38"/><text x="{LEFT + 34}" y="42">shoal</text>'
    yield f'<line class="theirs" x1="{LEFT + 84}" x2="{LEFT + 112}" y1="38" y2="38"/><text x="{LEFT + 118}" y="42">PyTorch (loss, mean of {SMOOTH} steps)</text>'
    yield f'<circle class="our-point" cx="{LEFT + 310}" cy="38" r="3.5"/><circle class="their-point" cx="{LEFT + 324}" cy="38" r="5.5"/>'
    yield f'<text x="{LEFT + 336}" y="42">validation loss</text>'
    yield f'<line class="fault" x1="{LEFT + 446}" x2="{LEFT + 446}" y1="31" y2="44"/><text x="{LEFT + 454}" y="42">fault</text>'
    yield from layouts(plot)
    yield from axes(plot)
    yield from (f'<line class="fault" x1="{plot.x(fault["step"])}" x2="{plot.x(fault["step"])}" y1="{bottom + 3}" y2="{bottom + 17}"/>' for fault in faults)
    yield plot.line(curves[0], "ours")
    yield plot.line(curves[1], "theirs")
    for rows, kind, radius in ((ours, "our-point", 3.5), (theirs, "their-point", 5.5)):
        yield from (f'<circle class="{kind}" cx="{plot.x(int(row["step"]))}" cy="{plot.y(float(row["val_loss"]))}" r="{radius}"/>' for row in rows if row["val_loss"])
    yield "</svg>"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text("\n".join(drawing(pathlib.Path(sys.argv[1]))) + "\n")
