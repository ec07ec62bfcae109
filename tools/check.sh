#!/bin/bash
# Everything that can be judged without running the program.
#   tools/check.sh [BUILD_DIR]     default: build/release; clang-tidy reads its compile_commands.json
#   tools/check.sh --deep          with clang's static analyzer too: a quarter of an hour, so not in CI
# clang-tidy is given what CMake compiles as one, which takes a quarter of the time of single files. Files above the torch
# line are formatted and layered like the others, but not given to it: version 14 stops at libtorch's own headers.
set -euo pipefail
cd "$(dirname "$0")/.."
deep=
[ "${1:-}" = --deep ] && { deep=yes; shift; }
build=${1:-build/release}

say() { printf 'check: %s\n' "$*"; }

mapfile -t sources < <(git ls-files '*.h' '*.cpp')
say "format of ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

say 'layers'
python3 tools/check_layers.py

say 'examples in headers'
python3 tools/check_examples.py

say 'documents'
python3 tools/check_docs.py

say 'comments'
python3 tools/check_comments.py

say 'scripts'
mapfile -t scripts < <(git ls-files '*.sh' .ci tests/testbed ':!tests/testbed/softcuda/*'; git ls-files tests/testbed/softcuda/softcuda)
shellcheck --external-sources "${scripts[@]}"

mapfile -t units < <(python3 - "$build/compile_commands.json" ${deep:+deep} <<'PYTHON'
import json, re, sys
for entry in json.load(open(sys.argv[1])):
    path, command = entry["file"], entry["command"]
    if "/torch/include" in command or "/tests/" in path or "/bench/" in path:
        continue
    # The analyzer looks into the file that it is given, and not into what that includes.
    print(*(re.findall('#include "(.*)"', open(path).read()) if len(sys.argv) > 2 and "/Unity/" in path else [path]), sep="\n")
PYTHON
)
say "clang-tidy of ${#units[@]} files"
checks=-bugprone-suspicious-include  # of .cpp files, which is what they are made of
[ -n "$deep" ] || checks+=",-clang-analyzer-*"
printf '%s\n' "${units[@]}" | sort -u |
  xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 clang-tidy --quiet -p "$build" --checks="$checks" \
    --extra-arg=-Wno-unknown-warning-option 2>/dev/null
say 'done'
