#!/bin/bash
# The figures that comm claims against the bare c10d calls: 64 MB over Gloo on two and four ranks.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

# at_most NAME LIMIT: a line NAME VALUE of the bench's output
at_most() {
  local value
  value=$(sed -n "s/^$1 //p" "$scratch/out")
  echo "$1 $value (at most $2)"
  awk -v value="$value" -v limit="$2" 'BEGIN { exit !(value != "" && value <= limit) }' || { cat "$scratch/out" >&2; fail "$1 is $value, at most $2 is allowed"; }
}

for ranks in 2 4; do
  echo "$ranks ranks"
  expect_exit 0 "$shoal" launch --ranks "$ranks" -- bench comm --op reduce_scatter --op all_gather --size '64 MiB' --rounds 31
  at_most comm.reduce_scatter.67108864.of_bare 0.45
  at_most comm.all_gather.67108864.of_bare 0.40
done

# What a call of Group adds to the bare call at 4 KiB, where both take the same way.
expect_exit 0 env OMP_NUM_THREADS=1 "$shoal" launch --ranks 2 -- bench comm --op all_reduce --op broadcast --size '4 KiB' --rounds 101
at_most comm.all_reduce.4096.added_us 10
at_most comm.broadcast.4096.added_us 10
expect_exit 2 "$shoal" bench comm
expect_text "$scratch/err" 'shoal launch --ranks 2 -- bench comm'
expect_exit 2 "$shoal" launch --ranks 2 -- bench comm --op all_redcue
expect_text "$scratch/err" "did you mean 'all_reduce'"
expect_exit 2 "$shoal" launch --ranks 2 -- bench comm --size huge
expect_text "$scratch/err" "--size is 'huge'"
