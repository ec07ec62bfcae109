#!/bin/bash
# `shoal verify --random` on fake GPUs: random layouts, models and precisions against one rank, without a race.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/../e2e/expect.sh"
export OMP_NUM_THREADS=1
seed=${SHOAL_SEED:-2} cases=15
[ -z "${SHOAL_NIGHTLY:-}" ] || cases=200

expect_exit 0 "$SOFTCUDA" --devices 4 --races abort -- "$shoal" verify --random $cases --ranks 4 --seed "$seed"
expect_text "$scratch/out" "^$cases cases of seed $seed in [0-9]+ s, [0-9]+ a minute: 0 findings\$"
refuse_text "$scratch/err" 'softcuda: '
tail -n 1 "$scratch/out"
