#!/bin/bash
# `shoal verify --random` on fake GPUs: random layouts, models and precisions against one rank, without a race.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/../e2e/expect.sh"
export OMP_NUM_THREADS=1

expect_exit 0 "$SOFTCUDA" --devices 4 --races abort -- "$shoal" verify --random 60 --ranks 4 --seed 2
expect_text "$scratch/out" '^60 cases of seed 2 in [0-9]+ s, [0-9]+ a minute: 0 findings$'
refuse_text "$scratch/err" 'softcuda: '
tail -n 1 "$scratch/out"
