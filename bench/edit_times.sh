#!/bin/bash
# Seconds from an edit to the result of its test, for five kinds of edits: bench/edit_times.sh
# Needs build/dev and build/release with tests, both up to date. An edit appends a comment.
set -euo pipefail
cd "$(dirname "$0")/.."

edit() { # WHAT FILE COMMAND
  local size from
  size=$(stat -c %s "$2")
  echo "// $(date +%s%N)" >>"$2"
  from=$(date +%s%N)
  bash -c "$3" >edit_times.log 2>&1 || { tail edit_times.log; echo "$1: FAILED"; }
  printf '%7.1f s  %s: %s\n' "$((($(date +%s%N) - from) / 100000000))e-1" "$1" "$3"
  truncate -s "$size" "$2"
}

edit 'a .cpp in plan' shoal/plan/mesh.cpp "ninja -C build/dev tests/plan/plan_test && ctest --preset dev -R '^plan_test\$'"
edit 'a .cpp in parallel' shoal/parallel/unit_group.cpp "ninja -C build/dev parallel_tests && ctest --preset dev -R '^unit_group_test\$'"
edit 'a help text' shoal/config/train_config.cpp "ninja -C build/dev shoal tests/config/config_test && ctest --preset dev -R '^config_'"
edit 'a test' tests/plan/mesh_test.cpp "ninja -C build/dev tests/plan/plan_test && ctest --preset dev -R '^plan_test\$'"
edit 'a header in core' shoal/core/format.h 'cmake --build --preset release && ctest --preset quick'
rm edit_times.log
