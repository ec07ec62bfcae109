#!/bin/bash
# `shoal bench gemm|memory|comm --save`: a cluster file that the planner reads, whose other fields stay; and what is refused before anything is
# measured. Times are not judged here: bench/plan_beside_runs.py does that.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$SHOAL_SOURCE_DIR"
file=$scratch/own.yaml

# plan FILE: the seconds of a step that the planner expects
plan() {
  expect_exit 0 "$shoal" plan configs/debug_cpu.yaml --set model.vocab_size=257 --ranks 2 --cluster "$1" --json
  /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["step"]["seconds"])' "$scratch/out"
}

printf '# Room 7.\nnetwork: {gb_per_s: 3.5, latency_us: 7}\n' >"$file"
expect_exit 0 "$shoal" launch --ranks 2 -- bench gemm --save "$file" --seconds 1
expect_text "$scratch/out" '^gemm.fp32.tflops [0-9.e-]+$'
expect_text "$scratch/out" '^gemm.bf16.half_gflop [0-9.e-]+$'
expect_text "$file" '^# Room 7.$'
expect_text "$file" '^# shoal bench gemm: .* 2 ranks with [0-9]+ threads each, 20[0-9-]+ [0-9:]+ UTC$'
expect_text "$file" '^  gb_per_s: 3.5$'
expect_text "$file" '^  launch_us: 5.0$'
plan "$file"

expect_exit 0 "$shoal" bench memory --save "$file" --seconds 1 --set train.threads=1
expect_text "$scratch/out" '^memory.gb_per_s [0-9.e+-]+$'
expect_text "$file" '^  launch_us: [0-9.]+$'
expect_text "$file" '^# shoal bench gemm: '
plan "$file"

expect_exit 0 "$shoal" launch --ranks 2 -- bench comm --save "$file" --size '1 KiB' --size '1 MiB'
expect_text "$scratch/out" '^comm.node.gb_per_s [0-9.e-]+$'
expect_text "$scratch/out" '^comm.node.device_share [0-9.]+$'
expect_text "$file" '^devices_per_node: 2$'
expect_text "$file" '^  gb_per_s: 3.5$'  # no network was measured
[ "$(stat -c %a "$file")" = 640 ] || fail "$file has mode $(stat -c %a "$file")"
before=$(plan "$file")

# A step on a device that is ten times slower takes longer.
sed -E 's/^  fp32_tflops: .*/  fp32_tflops: 0.001/' "$file" >"$scratch/slow.yaml"
after=$(plan "$scratch/slow.yaml")
awk -v before="$before" -v after="$after" 'BEGIN { exit !(after > before) }' || fail "a slow device takes $after s, a fast one $before s"

# Refused at once.
expect_exit 2 "$shoal" bench gemm --save "$scratch/nowhere/own.yaml"
expect_text "$scratch/err" 'nowhere is no directory that can be written to'
expect_exit 2 "$shoal" bench gemm --save "$scratch"
printf 'device: {fp32: {attention: {sizes: [1, 2], rates: [1]}}}\n' >"$scratch/wrong.yaml"
expect_exit 2 "$shoal" bench memory --save "$scratch/wrong.yaml"
expect_text "$scratch/err" '2 sizes and 1 rates'
expect_exit 2 "$shoal" launch --ranks 2 -- bench comm --save "$file" --op all_gather
expect_text "$scratch/err" 'leave out --op and --json'
expect_exit 2 "$shoal" bench comm --save "$file"
expect_text "$scratch/err" 'shoal launch --ranks 2 -- bench comm'
