#!/bin/bash
# The tests under AddressSanitizer and ThreadSanitizer that CI has no time for, most of them the engine's: tools/sanitize_engine.sh
# Needs what `tools/deps.sh lean engine check` installs, and some twenty minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

for preset in asan tsan; do
  cmake --preset "$preset" -DSHOAL_ENGINE=ON >/dev/null
  cmake --build --preset "$preset"
  ctest --preset "$preset" -j "$(getconf _NPROCESSORS_ONLN)" -R '^(comm_test|group_test|strict_test|grid_test|unit_group_test|saver_test|plan_test|picture_test|score_test|course_labs_test)$'
done
