#!/bin/bash
# The kit that is sent to people with GPUs, whole, on four fake ones: all is as expected, and a silent fault is told in words.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/../e2e/expect.sh"

kit=$SHOAL_SOURCE_DIR/tools/gpu_acceptance.sh
gpus=("$SOFTCUDA" --devices 4 --races abort --)

expect_exit 0 "$kit" --gpus 4 --shoal "$SHOAL_BINARY_DIR" --brief --report "$scratch/report.txt" -- "${gpus[@]}"
cat "$scratch/out"
expect_text "$scratch/report.txt" '^All is as expected\.$'
[ "$(grep -c '^  as expected ' "$scratch/report.txt")" -ge 15 ] || fail 'fewer than 15 trials were made'

# One of the results of one collective on one GPU is zeros, once, and no call says so.
expect_exit 1 env SOFTCUDA_SPOIL=1:ncclReduceScatter:7 "$kit" --gpus 4 --shoal "$SHOAL_BINARY_DIR" --brief --only layouts --report "$scratch/spoilt.txt" -- "${gpus[@]}"
cat "$scratch/out"
expect_text "$scratch/spoilt.txt" '^  DIFFERS +full_shard .*expected the CPU.s losses within 1e-5'
expect_text "$scratch/spoilt.txt" 'the loss of step [0-9]+ differs by .*wrong numbers, not round-off'
expect_text "$scratch/spoilt.txt" '^  full_shard: expected the CPU.s losses within 1e-5$'
expect_text "$scratch/spoilt.txt" '^  as expected +one GPU, fp32'

expect_exit 2 "$kit" --gpus 9
expect_text "$scratch/err" 'from 1 to 8'
expect_exit 2 "$kit" --gpus 2 --only calls --only speeed
expect_text "$scratch/err" 'the parts are calls, layouts, faults and speed'
