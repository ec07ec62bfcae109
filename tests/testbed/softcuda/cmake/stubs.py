"""Writes a C++ file with a function for every symbol that libtorch imports and a double does not define.

usage: stubs.py OUTPUT PATTERN --libraries FILE... --objects FILE...

PATTERN is a regular expression for the names of the symbols. Each function ends the process with its name.
"""

import argparse
import re
import subprocess


def symbols(files, *options):
    names = set()
    for file in files:
        lines = subprocess.run(["nm", *options, file], check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            names.add(line.split()[-1].split("@")[0])
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("pattern")
    parser.add_argument("--libraries", nargs="+", required=True)
    parser.add_argument("--objects", nargs="+", required=True)
    arguments = parser.parse_args()
    wanted = symbols(arguments.libraries, "-D", "--undefined-only")
    wanted = {name for name in wanted if re.fullmatch(arguments.pattern, name)}
    missing = sorted(wanted - symbols(arguments.objects, "-g", "--defined-only"))
    with open(arguments.output, "w") as file:
        file.write("#include <stdlib.h>\n#include <unistd.h>\n\n")
        file.write("// Symbols that libtorch imports and this double lacks; written by stubs.py.\n")
        for name in missing:
            line = f"softcuda: {name} is called, which has no double\\n"
            size = len(line) - 1
            file.write(f'extern "C" void {name}() {{\n')
            file.write(f'  [[maybe_unused]] const ssize_t written = write(2, "{line}", {size});\n  abort();\n}}\n')
    print(f"{len(wanted)} symbols wanted, {len(wanted) - len(missing)} written, {len(missing)} stubs")


if __name__ == "__main__":
    main()
