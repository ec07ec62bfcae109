#!/bin/bash
# Everything that .ci/run leaves to other turns, in full and with other random numbers: tools/nightly.sh [PART/4]
#
# Each part takes an hour on two cores and needs what it builds itself. It appends a row to docs/nightly.tsv: commit, date, part,
# result, seconds, seed, and how many of three runs each live test passed. Commit the row: .ci/run counts changes from the commit of
# the newest green one, and prints its age.
#
#   1/4  release tree: all unit tests, tests with ranks, packages, benches
#   2/4  release tree: commands, pages, labs, oracles, faults, long tests; live tests three times; quarantine
#   3/4  sanitizers: all their tests, the engine's as well, and fuzzers that explore; clang-tidy of all files
#   4/4  fake GPUs, and the faults that are made on purpose
#
# SHOAL_SEED: of random cases; default: the date.
# shellcheck disable=SC2317  # `try` calls the functions
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

parts=(1/4 2/4 3/4 4/4)
[ $# -eq 0 ] || parts=("$@")
cores=$(getconf _NPROCESSORS_ONLN)
export SHOAL_NIGHTLY=1
export SHOAL_SEED=${SHOAL_SEED:-$(date -u +%Y%m%d)}
live=()
failed=()

# Runs a command; a failure is noted, and the part goes on.
try() {  # NAME COMMAND...
  local from=$SECONDS code=0
  printf '\n==== %s\n' "$1"
  "${@:2}" || code=$?
  printf '==== %s: %d s, exit code %d\n' "$1" $((SECONDS - from)) "$code"
  [ "$code" = 0 ] || failed+=("$1")
}

configure() {  # TREE OPTION...
  cmake --preset "$1" -DSHOAL_TESTS=ON -DSHOAL_WERROR=ON -DSHOAL_COSTS="$PWD/build/$1/costs.tsv" "${@:2}" >/dev/null
}

tests() {  # TREE CTEST-OPTION...
  local code=0
  ctest --preset "$1" -j "$cores" "${@:2}" || { code=$?; tools/what_failed.py "build/$1"; }
  tools/check_skips.py "build/$1" || code=1
  return "$code"
}

# In functions that `try` runs, a failed command does not end the shell: hence the chains.
release_tree() {
  tools/deps.sh lean engine check &&
    configure release -DSHOAL_ENGINE=ON &&
    cmake --build --preset release
}

sanitizer() {  # TREE
  tools/deps.sh lean engine check &&
    configure "$1" -DSHOAL_ENGINE=ON &&
    cmake --build --preset "$1"
}

cuda_tree() {
  tools/deps.sh cuda &&
    configure cuda &&
    cmake --build --preset cuda
}

three_live_runs() {
  local name passes
  for name in $(tools/gate.py names release); do
    passes=0
    for _ in 1 2 3; do
      if ctest --preset release -Q -R "^$name\$"; then passes=$((passes + 1)); fi
    done
    live+=("$name:$passes/3")
    echo "$name: $passes of 3"
  done
}

run_part() {
  case $1 in
    1/4)
      try 'release: build' release_tree
      try 'release: unit tests' tests release -L unit
      try 'release: tests with ranks' tests release -L dist
      try 'release: packages' tests release -R '^package_'
      ;;
    2/4)
      try 'release: build' release_tree
      try 'release: commands' tests release -L e2e -E '^package_'
      try 'live tests three times' three_live_runs
      try 'release: long tests' ctest --test-dir build/release --output-on-failure -L '^long$' -j "$cores"
      ;;
    3/4)
      try 'quick checks' tools/check.sh --quick
      try 'asan: build' sanitizer asan
      try 'asan: tests' tests asan -LE slow
      try 'asan: fuzzers' env SHOAL_FUZZ_SECONDS="${SHOAL_FUZZ_SECONDS:-150}" ctest --preset asan -j "$cores" -L slow
      try 'tsan: build' sanitizer tsan
      try 'tsan: tests' tests tsan
      try 'release: build' release_tree
      try 'clang-tidy' tools/check.sh build/release
      ;;
    4/4)
      try 'release: build' release_tree
      try 'cuda: build' cuda_tree
      try 'cuda: tests on fake GPUs' tests cuda
      try 'faults that hunts find' tests/mutants/run.py
      try 'faults that fake GPUs find' tests/softgpu/mutants.py
      ;;
  esac
}

code=0
for part in "${parts[@]}"; do
  case $part in [1-4]/4) ;; *) echo "nightly: '$part' is no part; write 1/4 to 4/4" >&2; exit 2 ;; esac
  from=$SECONDS
  live=() failed=()
  run_part "$part"
  result=green
  [ ${#failed[@]} -eq 0 ] || { result="red: $(IFS=,; echo "${failed[*]}")"; code=1; }
  printf '%s\t%s\t%s\t%s\t%d\t%s\t%s\n' "$(git rev-parse HEAD)" "$(date -u +%Y-%m-%dT%H:%MZ)" "$part" "$result" $((SECONDS - from)) "$SHOAL_SEED" \
    "${live[*]:-}" | tee -a docs/nightly.tsv
done
exit "$code"
