#!/usr/bin/env python3
"""What TensorBoard's own package reads from our event files, beside our CSV and JSONL: the same steps, once each, with the same numbers.

A run is killed and resumed twice, at steps it has already written; once the kill comes from outside, wherever it hits.
"""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
WRITE = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]) / "tests" / "metrics" / "write_metrics"
sys.path.insert(0, str(SOURCE / ".deps" / "site"))
try:
    import numpy
    from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
except ImportError as missing:
    print(f"skipped: {missing} (tools/deps.sh check)")
    sys.exit(77)

failures = []
TEXT = "Once upon a time\nthere was \"a\" # \x1b[31mred\ufffd fox"


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")


def write(directory, first, last, total, seed):
    subprocess.run([WRITE, directory, *map(str, (first, last, total, seed))], check=True, stdout=subprocess.DEVNULL)


def read_csv(directory):
    """Steps in the order of the file, and {name: {step: number}} of the cells that are not empty."""
    with open(directory / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    figures = {name: {int(row["step"]): float(row[name]) for row in rows if row[name]} for name in rows[0]}
    return [int(row["step"]) for row in rows], figures


def not_json(constant):
    raise ValueError(f"{constant} is not JSON")


def read_jsonl(directory, name):
    lines = (directory / name).read_text().splitlines()
    return [json.loads(line, parse_constant=not_json) for line in lines]


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def same_figures(a, b):
    return a.keys() == b.keys() and all(same(a[step], b[step]) for step in a)


def check_scalars(directory, figures):
    events = event_accumulator.EventAccumulator(str(directory), size_guidance={event_accumulator.SCALARS: 0})
    events.Reload()
    served = plugin_event_accumulator.EventAccumulator(str(directory), size_guidance={plugin_event_accumulator.TENSORS: 0})
    served.Reload()  # as the web server does
    tags = {tag.split("/")[1]: tag for tag in events.Tags()["scalars"]}
    present = {name for name, numbers in figures.items() if numbers} - {"step"}
    check(tags.keys() == present, f"tags {sorted(tags)} for figures {sorted(present)}")
    for name, tag in tags.items():
        expected = [(step, float(numpy.float32(number))) for step, number in figures[name].items()]
        scalars = [(event.step, event.value) for event in events.Scalars(tag)]
        check([s for s, _ in scalars] == [s for s, _ in expected], f"{tag}: steps {[s for s, _ in scalars][:10]}...")
        check(all(same(a, b) for (_, a), (_, b) in zip(scalars, expected)), f"{tag}: numbers")
        shown = [event.step for event in served.Tensors(tag)]
        check(shown == [s for s, _ in expected], f"{tag}: the server shows {len(shown)} steps of {len(expected)}")
        check(served.SummaryMetadata(tag).summary_description, f"{tag} has no description")
    return served


def check_texts(directory, served, steps):
    texts = read_jsonl(directory, "texts.jsonl")
    expected = [{"step": step, "tag": "sample", "text": TEXT} for step in steps if step % 50 == 0]
    check(texts == expected, f"texts.jsonl: {texts[:2]}")
    shown = [(event.step, event.tensor_proto.string_val[0].decode()) for event in served.Tensors("sample")]
    indented = TEXT.replace("\n", "\n    ")
    check(shown == [(text["step"], "    " + indented) for text in texts], f"texts of TensorBoard: {shown[:2]}")


def check_directory(directory, last):
    steps, figures = read_csv(directory)
    check(steps == list(range(1, last + 1)), f"{len(steps)} rows of CSV for {last} steps")
    objects = read_jsonl(directory, "metrics.jsonl")
    check([o["step"] for o in objects] == steps, "the steps of JSONL are not those of CSV")
    for name, numbers in figures.items():
        check(same_figures({o["step"]: float(o[name]) for o in objects if name in o}, numbers), f"{name} differs between JSONL and CSV")
    check(math.isnan(figures["loss"][97]) and math.isinf(figures["loss"][101]), "nan and inf")
    check(objects[96]["loss"] == "nan" and objects[100]["loss"] == "inf", f"JSONL says {objects[96]['loss']}, {objects[100]['loss']}")
    check_texts(directory, check_scalars(directory, figures), steps)
    for file in directory.iterdir():
        check(file.stat().st_mode & 0o777 == 0o640, f"{file.name} has mode {file.stat().st_mode & 0o777:o}")


def check_resumed(scratch):
    directory, alone = scratch / "resumed", scratch / "alone"
    write(directory, 1, 500, 600, seed=1)
    write(directory, 101, 250, 600, seed=2)  # within the second of the first: the names of the files must still sort
    write(directory, 201, 600, 600, seed=3)
    check_directory(directory, 600)
    write(alone, 201, 600, 600, seed=3)
    check(read_jsonl(directory, "metrics.jsonl")[200:] == read_jsonl(alone, "metrics.jsonl"), "the last run's figures are the ones that stay")


def check_killed(scratch):
    directory = scratch / "killed"
    run = subprocess.Popen([WRITE, directory, "1", "1000000000", "1000000000", "4"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while len(list(directory.glob("events*"))) == 0 or (directory / "metrics.csv").stat().st_size < 200_000:
        if run.poll() is not None or time.monotonic() > deadline:
            check(False, "the run does not write")
            break
        time.sleep(0.001)
    run.kill()
    run.wait()
    written = len((directory / "metrics.jsonl").read_text().splitlines())
    resumed = max(written // 2, 102)
    write(directory, resumed, resumed + 33, 1_000_000, seed=5)
    check_directory(directory, resumed + 33)
    print(f"killed at step {written}, resumed at {resumed}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_resumed(pathlib.Path(scratch))
        check_killed(pathlib.Path(scratch))
    print("all equal" if not failures else f"{len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
