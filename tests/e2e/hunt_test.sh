#!/bin/bash
# `shoal verify --random`: a minute of the search that runs for hours elsewhere, and what it prints. .ci/run takes the seed from the
# sources (SHOAL_SEED).
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
seed=${SHOAL_SEED:-1} cases=15 resumes=5
[ -z "${SHOAL_NIGHTLY:-}" ] || { cases=200 resumes=50; }

expect_exit 0 "$shoal" verify --random $cases --seed "$seed"
expect_text "$scratch/out" "^$cases cases of seed $seed in [0-9]+ s, [0-9]+ a minute: 0 findings\$"
tail -n 1 "$scratch/out"
expect_exit 0 "$shoal" verify --random $resumes --seed "$seed" --resume
expect_text "$scratch/out" "^$resumes cases of seed $seed in [0-9]+ s, [0-9]+ a minute: 0 findings\$"
tail -n 1 "$scratch/out"

# On fewer ranks; the same seed draws the same.
expect_exit 0 "$shoal" verify --random 3 --seed 2 --ranks 2
expect_text "$scratch/out" '^3 cases of seed 2 '
expect_exit 2 "$shoal" verify --random 0
