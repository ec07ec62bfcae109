#!/bin/bash
# Everything that can be judged without running the program.
#   tools/check.sh [BUILD_DIR]     default: build/lean; clang-tidy reads its compile_commands.json
# Files above the torch line are formatted and layered like the others, but not given to clang-tidy: version 14 takes
# half a minute for each, and stops at libtorch's own headers.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/lean}

say() { printf 'check: %s\n' "$*"; }

mapfile -t sources < <(git ls-files '*.h' '*.cpp')
say "format of ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

say 'layers'
python3 tools/check_layers.py

say 'documents'
python3 tools/check_docs.py

say 'scripts'
mapfile -t scripts < <(git ls-files '*.sh' .ci tests/testbed)
shellcheck --external-sources "${scripts[@]}"

mapfile -t units < <(python3 - "$build/compile_commands.json" <<'PYTHON'
import json, os, sys
root = os.getcwd() + "/"
for entry in json.load(open(sys.argv[1])):
    path = entry["file"]
    if path.startswith(root) and "/tests/" not in path:
        print(path.removeprefix(root))
PYTHON
)
say "clang-tidy of ${#units[@]} files"
printf '%s\n' "${units[@]}" | sort -u |
  xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 4 clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option 2>/dev/null
say 'done'
