#!/bin/bash
# `shoal plan --execute`: a dry run of each role, on meta tensors.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$SHOAL_SOURCE_DIR"

config=configs/debug_cpu.yaml
vocabulary='--set model.vocab_size=101'
# A dry run: every role does what its program says; stages, tensor places and ranks with fewer sequences are roles of their own.
# shellcheck disable=SC2086
expect_exit 0 "$shoal" plan $config $vocabulary --ranks 12 --set parallel.pp=2 --set parallel.tp=2 --set train.batch=7 --execute --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON' || fail 'a dry run is not what its programs say'
import json, sys
found = json.load(open(sys.argv[1]))
layout = found.pop("layout")
assert layout["roles"] == layout["as_their_programs_say"] == len(found) == 8, layout
assert sum(role["ranks_alike"] for role in found.values()) == 12, found
for role in found.values():
    assert role["equal"] and role["tp"]["calls"] > 0 and role["tp"]["ranks"] == 2, role
    assert 0.95 < role["executed_to_planned"] < 1.06 and role["executed_peak_bytes"] > role["state_bytes"], role
PYTHON
# shellcheck disable=SC2086
expect_exit 2 "$shoal" plan $config $vocabulary --ranks 5 --set parallel.tp=2 --execute
expect_text "$scratch/err" 'does not divide 5 ranks'
# shellcheck disable=SC2086
expect_exit 2 "$shoal" plan $config $vocabulary --cluster clusters/h100.yaml --execute
expect_text "$scratch/err" 'measures no time'
expect_exit 0 "$shoal" plan $config --execute --help
expect_text "$scratch/out" '--execute'
