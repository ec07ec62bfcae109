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
    """The directory of the target's objects, which every command of the target names."""
    return re.search(r"CMakeFiles/([^/]+)\.dir/", entry["output"] if "output" in entry else entry["command"]).group(1)


def is_checked(entry):
    return not any(mark in entry["command"] for mark in ("/torch/include",)) and not any(
        mark in entry["file"] for mark in ("/tests/", "/bench/"))


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
    commands = []
    for target, entries in sorted(targets.items()):
        sources = sorted({source for entry in entries for source in sources_of(entry) if source.endswith(".cpp")})
        groups = [[source] for source in sources] if options.single else [sources]
        for group in groups:
            if not group:
                continue
            unit = options.output / (f"{target}.cpp" if len(groups) == 1 else f"{target}-{pathlib.Path(group[0]).stem}.cpp")
            if len(group) == 1:
                unit = pathlib.Path(group[0])
            else:
                unit.write_text("".join(f'#include "{source}"\n' for source in group))
            # As the first command of the target, but for the names of files.
            command = entries[0]["command"].replace(entries[0]["file"], str(unit.resolve()))
            commands.append({"directory": entries[0]["directory"], "command": command, "file": str(unit.resolve())})
            print(unit.resolve())
    (options.output / "compile_commands.json").write_text(json.dumps(commands, indent=1))


if __name__ == "__main__":
    main()
