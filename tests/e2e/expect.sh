# expect.sh -- sourced by the end-to-end tests: what to check and how to say that it failed.
# shellcheck shell=bash disable=SC2034  # the tests use these variables
set -euo pipefail

shoal=${SHOAL_BINARY_DIR:?set by ctest}/shoal
testbed=${SHOAL_SOURCE_DIR:?set by ctest}/tests/testbed
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

skip() { printf 'skipped: %s\n' "$*" >&2; exit 77; }

# expect_exit CODE COMMAND...: its output goes to $scratch/out and $scratch/err
expect_exit() {
  local expected=$1 code=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
  [ "$code" = "$expected" ] || { cat "$scratch/out" "$scratch/err" >&2; fail "exit code $code instead of $expected: $*"; }
}

# expect_text FILE PATTERN (extended regular expression)
expect_text() { grep -Eq -- "$2" "$1" || { cat "$1" >&2; fail "no '$2' in the output above"; }; }

refuse_text() { ! grep -Eq -- "$2" "$1" || { cat "$1" >&2; fail "'$2' in the output above"; }; }

# The doctor's proof for so many ranks.
expect_proof() {
  expect_text "$1" "^  ranks +$2$"
  expect_text "$1" 'these ranks train like one'
}
