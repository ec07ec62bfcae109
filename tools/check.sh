#!/bin/bash
# Everything that can be judged without running the program.
#   tools/check.sh [BUILD_DIR]          default: build/release; clang-tidy reads its compile_commands.json
#   tools/check.sh --quick              only what needs no build tree: half a minute
#   tools/check.sh --tidy [BUILD_DIR]   only clang-tidy, of the files in this turn of the gate (tools/gate.py)
#   tools/check.sh --deep [BUILD_DIR]   with clang's static analyzer too: a quarter of an hour
# Files above the torch line are formatted and layered like the others, but not given to clang-tidy (tools/tidy_units.py).
set -euo pipefail
cd "$(dirname "$0")/.."
part=
case ${1:-} in --quick | --tidy | --deep) part=${1#--}; shift ;; esac
build=${1:-build/release}

say() { printf 'check: %s\n' "$*"; }

quick_checks() {
  local sources scripts
  mapfile -t sources < <(git ls-files '*.h' '*.cpp')
  say "format of ${#sources[@]} files"
  printf '%s\0' "${sources[@]}" | xargs -0 -P "$(getconf _NPROCESSORS_ONLN)" -n 100 clang-format --dry-run -Werror
  say 'layers'
  python3 tools/check_layers.py
  say 'examples in headers'
  python3 tools/check_examples.py
  say 'documents'
  python3 tools/check_docs.py
  say 'comments'
  python3 tools/check_comments.py
  say 'tests of the gate'
  python3 tools/gate.py check
  say 'scripts'
  mapfile -t scripts < <(git ls-files '*.sh' .ci tests/testbed ':!tests/testbed/softcuda/*'; git ls-files tests/testbed/softcuda/softcuda)
  shellcheck --external-sources "${scripts[@]}"
}

tidy() {
  local units single=() filter=cat checks=-bugprone-suspicious-include # of .cpp files, which is what the units are made of
  [ "$part" != deep ] || single=(--single)
  [ "$part" = deep ] || checks+=",-clang-analyzer-*"
  [ "$part" != tidy ] || filter='python3 tools/gate.py units'
  mapfile -t units < <(python3 tools/tidy_units.py "$build" "$build/tidy" "${single[@]}" | $filter)
  say "clang-tidy of ${#units[@]} files"
  printf '%s\n' "${units[@]}" |
    xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 clang-tidy --quiet -p "$build/tidy" --checks="$checks" \
      --extra-arg=-Wno-unknown-warning-option 2>/dev/null
}

[ "$part" = tidy ] || quick_checks
[ "$part" = quick ] || tidy
say 'done'
