#!/bin/bash
# Lets a fuzz target search for new inputs: tests/fuzz/explore.sh TARGET OPTION... FOUND_DIRECTORY SEED_DIRECTORY...
# SHOAL_FUZZ_SECONDS: how long, default 8. SHOAL_SEED: start of the random numbers. An input that fails is printed in base64,
# because the machine may be gone when somebody reads the log.
set -uo pipefail
finds=$(mktemp -d)
trap 'rm -rf "$finds"' EXIT
"$@" -max_total_time="${SHOAL_FUZZ_SECONDS:-8}" -seed="${SHOAL_SEED:-1}" -artifact_prefix="$finds/" -print_final_stats=1
code=$?
for find in "$finds"/*; do
  [ -e "$find" ] || continue
  echo "FAILED: ${find##*/}, for base64 -d:"
  base64 "$find"
done
exit "$code"
