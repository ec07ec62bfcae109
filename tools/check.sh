#!/bin/bash
# Everything that can be judged without running the program.
#   tools/check.sh [BUILD_DIR]     default: build/release; clang-tidy reads its compile_commands.json
#   tools/check.sh --deep          with clang's static analyzer too: a quarter of an hour, so not in CI
# Files above the torch line are formatted and layered like the others, but not given to clang-tidy (tools/tidy_units.py).
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

mapfile -t units < <(python3 tools/tidy_units.py "$build" "$build/tidy" ${deep:+--single})
say "clang-tidy of ${#units[@]} files"
checks=-bugprone-suspicious-include  # of .cpp files, which is what they are made of
[ -n "$deep" ] || checks+=",-clang-analyzer-*"
printf '%s\n' "${units[@]}" |
  xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 clang-tidy --quiet -p "$build/tidy" --checks="$checks" \
    --extra-arg=-Wno-unknown-warning-option 2>/dev/null
say 'done'
