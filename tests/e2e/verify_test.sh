#!/bin/bash
# `shoal verify`: layouts train like one rank, a wrong layout is refused before anything starts, and what is refused is listed.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
export OMP_NUM_THREADS=1

# Uneven on purpose: 7 samples, micro-batches of 2, 3 blocks, a prime vocabulary.
cat >"$scratch/small.yaml" <<'YAML'
model: {layers: 3, width: 24, heads: 3, hidden: 41, context: 19, vocab_size: 251}
optimizer: {lr: 0.01}
train: {batch: 7, micro_batch: 2, threads: 1}
YAML
verify() { "$shoal" verify "$scratch/small.yaml" "$@"; }

# It starts the ranks itself.
expect_exit 0 verify --layout tp=3,pp=2
expect_text "$scratch/out" '^  layout +pp 2 x .* x tp 3 = 6 ranks, full_shard, 1f1b$'
refuse_text "$scratch/err" 'still use its store'  # rank 0 would wait for them
expect_text "$scratch/out" '^  initial weights +equal to the bit$'
expect_text "$scratch/out" '^blocks.2.mlp.down.weight +[0-9.]+e-1[0-9] +[0-9.]+e-1[0-9] '
[[ $(tail -n 1 "$scratch/out") =~ ^max\ difference\ [0-9.]+e-1[0-9]$ ]] || fail "last line: $(tail -n 1 "$scratch/out")"
# The losses of the layout are those of one rank, and not of nothing.
/usr/bin/python3 - "$scratch/out" <<'PYTHON'
import re, sys
one, layout = (re.search(rf"^losses\n(?:.*\n)?  {name} +(.*)$", open(sys.argv[1]).read(), re.M).group(1).split()
               for name in ("one rank", "layout"))
assert one == layout and len(one) == 5 and len(set(one)) == 5, (one, layout)
PYTHON

# Under a launcher each process is a rank; other precisions have other tolerances; JSON has every tensor.
expect_exit 0 "$shoal" launch --ranks 2 -- verify "$scratch/small.yaml" --layout sharding=optimizer --steps 2 --json --precision fp32
/usr/bin/python3 - "$scratch/out" <<'PYTHON'
import json, sys
shown = json.load(open(sys.argv[1]))
assert shown["verify"]["steps"] == 2 and "dp_shard 2" in shown["verify"]["layout"], shown["verify"]
assert shown["result"]["agrees"] and shown["result"]["max difference"] > 0, shown["result"]
assert shown["gradients"].keys() == shown["weights"].keys() and len(shown["weights"]) == 40, len(shown["weights"])
PYTHON
expect_exit 0 verify --ranks 2 --precision bf16 --set optimizer.kind=sgd
expect_text "$scratch/out" 'dp_shard 2 .* = 2 ranks'
expect_text "$scratch/out" 'epsilon of bf16'
# One rank beside itself.
expect_exit 0 verify --steps 1 --set train.micro_batch=auto
expect_text "$scratch/out" '^max difference 0.0e\+00$'

# What is wrong is said once, before anything starts, all of it.
expect_exit 2 verify --layout pp=7,chunks=2,cp=2
expect_text "$scratch/err" 'cannot be run on 14 ranks \(3 problems\)'
expect_text "$scratch/err" 'sequences cannot be split over ranks yet'
expect_text "$scratch/err" '3 blocks do not fill 14 stages'
expect_text "$scratch/err" 'write .schedule: interleaved.'
refuse_text "$scratch/err" 'launch:'
expect_exit 2 verify --layout tp=4
expect_text "$scratch/err" 'model.heads = 3 is less than parallel.tp = 4'
expect_exit 2 verify --layout tp=2 --ranks 3
expect_text "$scratch/err" 'does not divide 3 ranks'
expect_exit 2 verify --layout tq=2
expect_text "$scratch/err" 'did you mean parallel.tp'
expect_exit 2 verify --layout tp
expect_text "$scratch/err" "'tp' where KEY=VALUE belongs"
expect_exit 2 verify --layout tp=2,
expect_text "$scratch/err" "'' where KEY=VALUE belongs"
expect_exit 2 verify --precision fp16
expect_text "$scratch/err" 'fp64, fp32 or bf16'
expect_exit 2 "$shoal" launch --ranks 2 -- verify "$scratch/small.yaml" --ranks 3
expect_text "$scratch/err" 'leave it out under a launcher'
# So does training refuse it.
expect_exit 2 "$shoal" train "$scratch/small.yaml" --set parallel.chunks=2
expect_text "$scratch/err" 'there is no pipeline'

# Every row of the list is asked for, not written: none of what it calls refused runs.
expect_exit 0 "$shoal" verify --list
expect_text "$scratch/out" '^  full_shard +yes +yes +yes +yes +yes +- '
expect_text "$scratch/out" '^  parallel.cp=2$'
refuse_text "$scratch/out" 'nothing: it runs'
