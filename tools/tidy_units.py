#!/usr/bin/env python3
"""tools/tidy_units.py BUILD_DIR OUTPUT_DIR [--single]: the files to give to clang-tidy, one per line.

clang-tidy spends nearly all of its time on headers, again for each file it is given. So the sources of one CMake target are
included by one file in OUTPUT_DIR, which also gets the compile_commands.json that says how to compile it. --single: one source
at a time, which clang's static analyzer needs, as it looks into the file that it is given and not into what that includes.
Above the torch line nothing is listed: version 14 stops at libtorch's own headers.
"""
import argparse
import json
import pathlib
import re


def sources_of(entry):
    """The sources that a command compiles: several when CMake compiles them as one."""
    path = pathlib.Path(entry["file"])
    if "Unity" not in path.parts:
        return [str(path)]
    return re.findall('#include "(.*)"', path.read_text())


def target_of(entry):
    """From the directory of the target's objects."""
    return re.search(r"CMakeFiles/([^/]+)\.dir/", entry["command"]).group(1)


def is_checked(entry):
    return "/torch/include" not in entry["command"] and not any(mark in entry["file"] for mark in ("/tests/", "/bench/"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()

    targets = {}
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        if is_checked(entry):
            targets.setdefault(target_of(entry), []).append(entry)

    options.output.mkdir(parents=True, exist_ok=True)
    commands = {}  # by file: a source of several targets is given once
    for target, entries in sorted(targets.items()):
        units = sorted({source for entry in entries for source in sources_of(entry) if source.endswith(".cpp")})
        if len(units) > 1 and not options.single:
            together = (options.output / f"{target}.cpp").resolve()
            together.write_text("".join(f'#include "{source}"\n' for source in units))
            units = [str(together)]
        # As the first command of the target, but for the names of files.
        first = entries[0]
        for unit in units:
            command = first["command"].replace(first["file"], unit)
            commands.setdefault(unit, {"directory": first["directory"], "command": command, "file": unit})
    (options.output / "compile_commands.json").write_text(json.dumps(list(commands.values()), indent=1))
    print(*commands, sep="\n")


if __name__ == "__main__":
    main()
