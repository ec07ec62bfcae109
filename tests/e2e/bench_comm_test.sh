#!/bin/bash
# What comm claims against the bare c10d calls, over Gloo on two and four ranks. The claims of docs/evidence.md are for 64 MiB in 31
# rounds (SHOAL_BENCH_MIB, SHOAL_BENCH_ROUNDS): two minutes, which is too long for CI.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

mib=${SHOAL_BENCH_MIB:-16}
if [ "$mib" -ge 64 ]; then limits=(0.45 0.40); else limits=(0.80 0.80); fi

# at_most NAME LIMIT: does the figure NAME of the bench's output keep to the limit? A median is only known as well as its
# standard error says, which grows with the machine's load: what lies within three errors of the limit has not passed it.
at_most() {
  local value error
  value=$(sed -n "s/^$1 //p" "$scratch/out")
  error=$(sed -n "s/^$1_error //p" "$scratch/out")
  echo "$1 $value, known within $error (at most $2)"
  awk -v value="$value" -v error="$error" -v limit="$2" 'BEGIN { exit !(value != "" && error != "" && value - 3 * error <= limit) }'
}

# On a machine with other tenants one 4 KiB all-reduce varies between 60 and 900 us within seconds: a run that is too
# slow is repeated, and only what is too slow three times is too slow.
within_three_runs() {  # FUNCTION
  for _ in 1 2 3; do
    if "$1"; then return; fi
  done
  cat "$scratch/out" >&2
  fail "$1: the limit was passed in three runs"
}

large_messages() {
  expect_exit 0 "$shoal" launch --ranks "$ranks" -- bench comm --op reduce_scatter --op all_gather --size "$mib MiB" --rounds "${SHOAL_BENCH_ROUNDS:-21}"
  at_most comm.reduce_scatter.$((mib << 20)).of_bare "${limits[0]}" && at_most comm.all_gather.$((mib << 20)).of_bare "${limits[1]}"
}

# What a call of Group adds to the bare call at 4 KiB, where both take the same way.
small_messages() {
  expect_exit 0 env OMP_NUM_THREADS=1 "$shoal" launch --ranks 2 -- bench comm --op all_reduce --op broadcast --size '4 KiB' --rounds 101
  at_most comm.all_reduce.4096.added_us 10 && at_most comm.broadcast.4096.added_us 10
}

for ranks in 2 4; do
  echo "$ranks ranks"
  within_three_runs large_messages
done
within_three_runs small_messages

expect_exit 2 "$shoal" bench comm
expect_text "$scratch/err" 'shoal launch --ranks 2 -- bench comm'
expect_exit 2 "$shoal" launch --ranks 2 -- bench comm --op all_redcue
expect_text "$scratch/err" "did you mean 'all_reduce'"
expect_exit 2 "$shoal" launch --ranks 2 -- bench comm --size huge
expect_text "$scratch/err" "--size is 'huge'"
