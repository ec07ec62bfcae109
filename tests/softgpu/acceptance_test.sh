#!/bin/bash
# The kit that is sent to people with GPUs, on four fake ones: all is as expected, and a silent fault is reported in words.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/../e2e/expect.sh"

kit=$SHOAL_SOURCE_DIR/tools/gpu_acceptance.sh
gpus=("$SOFTCUDA" --devices 4 --races abort --)
kit_on_gpus() { "$kit" --gpus 4 --shoal "$SHOAL_BINARY_DIR" --brief "$@" -- "${gpus[@]}"; }

# expect_trials NUMBER OPTION...: at least so many, all as expected
expect_trials() {
  expect_exit 0 kit_on_gpus "${@:2}" --report "$scratch/report.txt"
  cat "$scratch/out"
  expect_text "$scratch/report.txt" '^All is as expected\.$'
  [ "$(grep -c '^  as expected ' "$scratch/report.txt")" -ge "$1" ] || fail "fewer than $1 trials were made"
}

# Shards of tests/softgpu/CMakeLists.txt; all of them without one.
in_shard() { [ "${GTEST_SHARD_INDEX:-$1}" = "$1" ]; }

if in_shard 0; then
  expect_trials 7 --only layouts
fi
if in_shard 1; then
  expect_trials 8 --only calls --only faults --only speed
fi
if in_shard 2; then
  # One of the results of one collective on one GPU is zeros, once, and no call reports it.
  expect_exit 1 env SOFTCUDA_SPOIL=1:ncclReduceScatter:7 "$kit" --gpus 4 --shoal "$SHOAL_BINARY_DIR" --brief --only layouts --report "$scratch/spoilt.txt" -- "${gpus[@]}"
  cat "$scratch/out"
  expect_text "$scratch/spoilt.txt" '^  DIFFERS +full_shard .*expected the CPU.s losses within 1e-5'
  expect_text "$scratch/spoilt.txt" 'the loss of step [0-9]+ differs by .*wrong numbers, not round-off'
  expect_text "$scratch/spoilt.txt" '^  full_shard: expected the CPU.s losses within 1e-5$'
  expect_text "$scratch/spoilt.txt" '^  as expected +one GPU, fp32'
fi

expect_exit 2 "$kit" --gpus 9
expect_text "$scratch/err" 'from 1 to 8'
expect_exit 2 "$kit" --gpus 2 --only calls --only speeed
expect_text "$scratch/err" 'the parts are calls, layouts, faults and speed'
