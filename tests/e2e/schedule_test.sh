#!/bin/bash
# `shoal schedule`: what it reads and refuses. What it draws is compared with its page by tests/docs.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

# What --print writes is read again, and is the same schedule.
for words in 'gpipe --stages 3 --micro-batches 5' '1f1b --stages 5 --micro-batches 7' \
  'interleaved --stages 3 --micro-batches 7 --chunks 3'; do
  # shellcheck disable=SC2086
  expect_exit 0 "$shoal" schedule $words --print
  cp "$scratch/out" "$scratch/printed.txt"
  expect_exit 0 "$shoal" schedule "$scratch/printed.txt" --print
  cmp "$scratch/out" "$scratch/printed.txt"
done

expect_exit 0 "$shoal" schedule interleaved --stages 4 --micro-batches 8 --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON'
import json, sys
shown = json.load(open(sys.argv[1]))
assert shown["schedule"] == {"order": "interleaved", "ranks": 4, "chunks": 2, "micro-batches": 8}, shown
assert shown["time"]["seconds"] == 28.5 and abs(shown["time"]["bubble"] - 3 / 19) < 1e-12, shown
assert shown["activations in flight"]["most"] == [11, 9, 7, 5], shown
PYTHON
expect_exit 0 "$shoal" schedule gpipe --stages 2 --micro-batches 3 --forward 0.5 --backward 1 --transfer 0.25
expect_text "$scratch/out" '^  seconds +6.5$'
expect_exit 0 "$shoal" schedule 1f1b --stages 64 --micro-batches 512 --width 60
expect_text "$scratch/out" '^rank 63 '
refuse_text "$scratch/out" '^rank.{57}'

expect_exit 2 "$shoal" schedule
expect_exit 2 "$shoal" schedule 1f1b --stages 4
expect_text "$scratch/err" '1f1b needs --stages N and --micro-batches N'
expect_exit 2 "$shoal" schedule interleavd --stages 4 --micro-batches 8
expect_text "$scratch/err" "no schedule 'interleavd'.*did you mean 'interleaved'"
expect_exit 2 "$shoal" schedule gpipe --stages 4 --micro-batches 8 --chunks 2
expect_text "$scratch/err" 'gpipe runs one chunk per rank, not 2: choose interleaved'
expect_exit 2 "$shoal" schedule gpipe --stages 0 --micro-batches 8
expect_text "$scratch/err" "'0' is not a whole number from 1 to 4096"
expect_exit 2 "$shoal" schedule gpipe --stages 4 --micro-batches 8 --forward -1
expect_text "$scratch/err" 'a forward of -1 seconds cannot be simulated'
expect_exit 2 "$shoal" schedule "$scratch/printed.txt" --stages 4
expect_text "$scratch/err" 'says itself how many stages'
expect_exit 3 "$shoal" schedule "$scratch/none.txt"
expect_text "$scratch/err" 'cannot open .*none.txt'

# The messages of the page, with its own examples of what is wrong.
cd "$scratch"
expect_page_error() {
  printf '%s\n' "$1" >my_schedule.txt
  expect_exit 3 "$shoal" schedule my_schedule.txt
  while read -r line; do
    grep -Fq -- "$line" "$SHOAL_SOURCE_DIR/docs/pipeline-schedules.md" || fail "the page does not say: $line"
  done <err
}
expect_page_error $'rank 0: F0 F1 B0\nrank 1: B0 F0 F1 B1'
expect_text err 'runs B0 without F0'
expect_page_error $'rank 0: F0 B0 F1 B1\nrank 1: F1 F0 B0 B1'
expect_text err 'never ends'
printf 'rank 0: F0 X0\n' >my_schedule.txt
expect_exit 3 "$shoal" schedule my_schedule.txt
expect_text err "my_schedule.txt:1: 'X0' is no action"
