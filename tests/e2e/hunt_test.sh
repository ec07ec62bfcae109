#!/bin/bash
# `shoal verify --random`: a minute of the hunt that runs for hours elsewhere, and what it says.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

expect_exit 0 "$shoal" verify --random 40 --seed 1
expect_text "$scratch/out" '^40 cases of seed 1 in [0-9]+ s, [0-9]+ a minute: 0 findings$'
tail -n 1 "$scratch/out"
expect_exit 0 "$shoal" verify --random 12 --seed 1 --resume
expect_text "$scratch/out" '^12 cases of seed 1 in [0-9]+ s, [0-9]+ a minute: 0 findings$'
tail -n 1 "$scratch/out"

# On fewer ranks; the same seed draws the same.
expect_exit 0 "$shoal" verify --random 3 --seed 2 --ranks 2
expect_text "$scratch/out" '^3 cases of seed 2 '
expect_exit 2 "$shoal" verify --random 0
