#!/bin/bash
# `shoal course`: every lab can be solved, its commands run as they stand, and wrong answers are told.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
export OMP_NUM_THREADS=1

cd "$scratch"
ln -s "$SHOAL_SOURCE_DIR/configs" configs
ln -s "$SHOAL_SOURCE_DIR/clusters" clusters
for _ in $(seq 12); do cat "$SHOAL_SOURCE_DIR/LICENSE"; done >shakespeare.txt  # any text will do
mkdir bin && ln -s "$shoal" bin/shoal
PATH=$scratch/bin:$PATH

# The list and the sheets.
expect_exit 0 "$shoal" course
[ "$(grep -Ec '^  [1-8]  ' out)" = 8 ] || fail 'the list does not have eight labs'
for lab in 1 2 3 4 5 6 7 8; do
  expect_exit 0 "$shoal" course start "$lab"
  cmp "lab$lab/lab.md" "$SHOAL_SOURCE_DIR"/course/lab"$lab"_*.md || fail "lab $lab has another text"
  expect_exit 1 "$shoal" course check "$lab"
  expect_text out '^0 of [0-9]+ right'
  refuse_text out '^  right'
done
expect_exit 2 "$shoal" course start 1
expect_text err 'lab1/answers.yaml is there already'
expect_exit 0 "$shoal" course start 1 elsewhere/deeper
expect_exit 1 "$shoal" course check 1 elsewhere/deeper

# The commands of a lab's text, as they stand. `start` was called before.
run_commands() {  # LAB
  # shellcheck disable=SC2016
  sed -n '/^```sh$/,/^```$/{/^```/d;/^shoal course start/d;p}' "lab$1/lab.md" >commands.sh
  [ -s commands.sh ] || fail "lab $1 has no commands"
  bash -euo pipefail commands.sh >commands.out 2>commands.err || { tail commands.err >&2; fail "commands of lab $1"; }
}

# expect_right LAB: takes a sheet from standard input, and expects it to be right; and wrong, key by key, when it is changed.
expect_right() {
  cat >"lab$1/answers.yaml"
  expect_exit 0 "$shoal" course check "$1"
  refuse_text out '^  (not yet|missing|unclear)'
  cp "lab$1/answers.yaml" right.yaml
  /usr/bin/python3 - right.yaml "lab$1/answers.yaml" <<'PYTHON'
import re, sys
def wrong(text):
    if not re.search(r"\d", text): return "x" + text
    return re.sub(r"\d+(\.\d+)?", lambda number: f"{float(number[0]) * 2 + 1:g}", text)
with open(sys.argv[2], "w") as out:
    for line in open(sys.argv[1]):
        key, value = line.rstrip().split(": ")
        print(f"{key}: {wrong(value)}", file=out)
PYTHON
  expect_exit 1 "$shoal" course check "$1"
  while IFS=: read -r key _; do refuse_text out "^  right +$key\$"; done <right.yaml
  cp right.yaml "lab$1/answers.yaml"
}

# What commands print is what labs ask for.
value_of() {  # PATH OF KEYS, as in memory.weights_bytes; from the JSON in out
  /usr/bin/python3 -c 'import json, sys
value = json.load(open("out"))
for key in sys.argv[1].split("/"): value = value[key]
print(value)' "$1"
}

lab_1() {
run_commands 1
expect_right 1 <<'YAML'
all_gather: [1, 10, 7, 100]
all_reduce: [118, 27, 136, 45]
reduce_scatter: [118, 27, 136, 45]
ring_step_1: [[1, 2, 103, 4], [10, 20, 30, 44], [17, 5, 3, 1], [100, 5, 100, 0]]
ring_half: [17, 5, 136, 45]
ring_steps: 6
sent_mib: 112
sent_mib_many: 127.875
zero_collective: reduce_scatter
YAML

# A wrong, a missing, a malformed answer and an unknown key, all told at once.
cat >lab1/answers.yaml <<'YAML'
all_gather: [1, 10, 7]
all_reduce: 118
reduce_scatter: [118, 27, 136, forty]
ring_step_1: [[1, 2, 103, 4], [10, 20, 30, 44], [17, 5, 3, 1], [100, 5, 100, 1]]
ring_half:
ring_steps: 6.5
sent_mib: 114
zero_collective: broadcast
ring_step: 6
YAML
expect_exit 1 "$shoal" course check 1
expect_text out '^  not yet  all_gather +not \[1, 10, 7\]\. An all-gather adds nothing'
expect_text out '^  unclear  all_reduce +this is not a list; the answer is a list of 4 numbers'
expect_text out '^  unclear  reduce_scatter .*forty'
expect_text out '^  not yet  ring_step_1 '
expect_text out '^  missing  ring_half '
expect_text out '^  unclear  ring_steps .*6\.5'
expect_text out '^  not yet  sent_mib +not 114\.'
expect_text out '^  missing  sent_mib_many '
expect_text out '^  unclear  zero_collective .*broadcast is none of them'
expect_text out '^  unclear  ring_step +is no question of lab 1; did you mean ring_steps'
expect_text out '^0 of 9 right'
[ ! -s err ] || fail 'wrong answers are no error'
expect_exit 1 "$shoal" course check 1 --json
/usr/bin/python3 - out <<'PYTHON'
import json, sys
shown = json.load(open(sys.argv[1]))
assert shown["lab"]["right"] == 0 and shown["lab"]["questions"] == 9, shown
assert shown["answers"]["all_gather"] == "not yet" and shown["answers"]["ring_half"] == "missing", shown
PYTHON

# Sheets that are no sheets.
for sheet in 'all_gather: [1, 2' '- a list' $'a: 1\na: 2' $'\xff\xfe' 'only text'; do
  printf '%s\n' "$sheet" >lab1/answers.yaml
  expect_exit 2 "$shoal" course check 1
  expect_text err '^error: lab1/answers.yaml'
done
: >lab1/answers.yaml
expect_exit 1 "$shoal" course check 1
rm lab1/answers.yaml
expect_exit 2 "$shoal" course check 1
expect_text err 'there is no lab1/answers.yaml: .shoal course start 1. makes one'
expect_exit 2 "$shoal" course check 9
expect_exit 2 "$shoal" course check 0
expect_exit 2 "$shoal" course start
expect_exit 2 "$shoal" course solve 1
expect_exit 2 "$shoal" course start 1 shakespeare.txt
expect_text err 'cannot make the directory shakespeare.txt'
}

lab_2() {
run_commands 2
expect_right 2 <<'YAML'
rows: [1, 2, 2]
one_rank: 4.4
mean_of_means: 4
shares: [3.6, 0.8]
masked_loss: 3
masked_wrong: 3.5
first_operation: Count targets
YAML
sed -i '$s/^30,\([0-9]*\),[0-9.]*/30,\1,4.5/' lab2/runs/three/metrics.csv
expect_exit 1 "$shoal" course check 2
expect_text out '^  not yet  same_losses +step 30 has a loss of .* and 4\.500000 there'
cp lab2/runs/one/metrics.csv lab2/runs/three/metrics.csv
rm -r lab2/runs/three/checkpoints && cp -r lab2/runs/one/checkpoints lab2/runs/three
expect_exit 1 "$shoal" course check 2
expect_text out 'both runs had the same layout'
printf 'step,loss\n1,abc\n' >lab2/runs/three/metrics.csv
expect_exit 1 "$shoal" course check 2
expect_text out 'lab2/runs/three/metrics.csv is not what a run wrote'
}

lab_3() {
state_of() {  # SHARDING
  expect_exit 0 "$shoal" plan lab3/gpt7b.yaml --ranks 64 --set parallel.sharding="$1" --json
  /usr/bin/python3 -c 'import json
memory = json.load(open("out"))["memory"]
print(sum(memory[kind + "_bytes"] for kind in ("weights", "gradients", "masters", "optimizer")) / 1e9)'
}
run_commands 3
expect_right 3 <<YAML
parameters_small: 108608
no_shard_gb: 120
zero1_gb: 31.4
zero2_gb: 16.6
zero3_gb: 1.9
fewest_ranks: [9, 5, 3]
bytes_per_parameter: 18
state_optimizer_gb: $(state_of optimizer)
state_full_shard_gb: $(state_of full_shard)
largest: activations
YAML
expect_exit 0 "$shoal" plan counts lab3/small.yaml --json
[ "$(value_of parameters)" = 108608 ] || fail 'small.yaml has another number of parameters'
}

lab_4() {
run_commands 4
expect_right 4 <<'YAML'
gpipe_4_8: 27.3
naive_4: 75
seconds_4_8: 33
fewest_micro_batches: 27
kept_gpipe: [16, 16, 16, 16]
kept_1f1b: [4, 3, 2, 1]
interleaved_4_8: 15.8
transfer_1f1b: 41
transfer_gpipe: 36
YAML
}

lab_5() {
run_commands 5
expect_right 5 <<'YAML'
hidden_0: [[1, 1], [3, 0]]
hidden_1: [[0, 6], [7, 0]]
partial_0: [[3, 1], [3, 0]]
partial_1: [[6, 6], [0, -7]]
output: [[9, 7], [3, -7]]
output_with_bias: [[14, 2], [8, -12]]
wrong_split: [[1, 2, 2, 6], [3, 0, 7, 0]]
uneven: [2, 3, 2, 3]
calls_of_block: 4
YAML
}

lab_6() {
run_commands 6
expect_exit 3 "$shoal" schedule lab6/schedule_a.txt
expect_text err 'rank 2   never runs B3'
expect_exit 0 "$shoal" schedule lab6/schedule_b.txt
expect_exit 3 "$shoal" schedule lab6/schedule_c.txt
expect_text err 'rank 0   stands at B0'
expect_text err 'rank 2   stands at F2'
expect_exit 2 "$shoal" plan check lab6/broken.yaml --ranks 4
expect_text err '\(1 problem\)'
expect_exit 2 "$shoal" plan check lab6/broken.yaml --ranks 4 --set parallel.tp=2
expect_text err '\(2 problems\)'
answers_6=$'incomplete: a\nmissing_pass: B3\ndeadlock: c\nstands_at_0: B0\nstands_at_2: f2\nproblems: 2'
printf '%s\n' "$answers_6" >lab6/answers.yaml
cp lab6/schedule_c.txt lab6/fixed_schedule.txt
cp lab6/broken.yaml lab6/fixed.yaml
expect_exit 1 "$shoal" course check 6
expect_text out '^  not yet  fixed_schedule +fixed_schedule.txt never ends'
expect_text out '^  not yet  fixed_layout +lab6/fixed.yaml cannot run on 4 ranks'
expect_text out '^6 of 8 right'
printf 'rank 0: F0 B0 F1 B1 F2 B2 F3 B3\nrank 1: F0 B0 F1 B1 F2 B2 F3 B3\nrank 2: F0 B0 F1 B1 F2 B2 F3 B3\n' >lab6/fixed_schedule.txt
sed -e 's/tp: 3/tp: 2/' -e 's/1f1b/interleaved/' -e 's/hybrid_shard/full_shard/' -e 's/layers: 6/layers: 8/' lab6/broken.yaml >lab6/fixed.yaml
expect_exit 1 "$shoal" course check 6
expect_text out '^  not yet  fixed_schedule +fixed_schedule.txt ends, but after 36 seconds: 1f1b needs 18'
expect_text out '^  not yet  fixed_layout .* model.layers is 8 instead of 6'
"$shoal" schedule 1f1b --stages 2 --micro-batches 4 --print >lab6/fixed_schedule.txt
sed -e 's/tp: 3/tp: 4/' -e 's/pp: 2/pp: 1/' -e 's/chunks: 2/chunks: 1/' -e 's/hybrid_shard/full_shard/' lab6/broken.yaml >lab6/fixed.yaml
expect_exit 1 "$shoal" course check 6
expect_text out '^  not yet  fixed_schedule +fixed_schedule.txt has 2 ranks and 4 micro-batches instead of 3 and 4'
expect_text out '^  not yet  fixed_layout +fixed.yaml is to keep a tp, a pp and chunks of 2'
"$shoal" schedule 1f1b --stages 3 --micro-batches 4 --print >lab6/fixed_schedule.txt
sed -e 's/tp: 3/tp: 2/' -e 's/1f1b/interleaved/' -e 's/hybrid_shard/full_shard/' lab6/broken.yaml >lab6/fixed.yaml
expect_right 6 <<<"$answers_6"
expect_exit 0 "$shoal" plan check lab6/fixed.yaml --ranks 4
expect_exit 0 "$shoal" verify lab6/fixed.yaml --steps 2
}

lab_7() {
run_commands 7
expect_exit 2 "$shoal" plan search lab7/llama7b.yaml --cluster lab7/h100.yaml --gpus 1
expect_exit 0 "$shoal" plan search lab7/llama7b.yaml --cluster lab7/h100.yaml --gpus 2
days_on() {  # GPUS
  expect_exit 0 "$shoal" plan search lab7/llama7b.yaml --cluster lab7/h100.yaml --gpus "$1" --write "best_$1.yaml"
  expect_exit 0 "$shoal" plan "best_$1.yaml" --ranks "$1" --cluster lab7/h100.yaml --json
  value_of run/days
}
devices=64
while [ "$(days_on $devices | cut -d. -f1)" -ge 10 ]; do devices=$((2 * devices)); done
expect_exit 0 "$shoal" plan search lab7/llama7b.yaml --cluster lab7/h100.yaml --gpus 64 --json
seconds=$(value_of best/1/step.seconds)
sharding=$(value_of best/1/sharding)
days=$(days_on 64)
cost=$(value_of run/cost)
expect_right 7 <<YAML
parameters: 6.74
tokens: 2000
rule_of_thumb: 80.9
state_gb: 121.3
state_devices: 2
fewest_devices: 2
sharding: $sharding
step_seconds: $seconds
days: $days
cost: $(/usr/bin/python3 -c "print($cost / 1000)")
devices_10_days: $devices
YAML
}

lab_8() {
# The check of the last lab looks at what happened.
printf 'sigterm: saved\n' >lab8/answers.yaml
run_commands 8
expect_exit 1 "$shoal" course check 8
expect_text out '^  right    continued'
last=$(tail -1 lab8/after_kill.csv | cut -d, -f1)
saved=$((last / 40 * 40))  # the save of step 80 had ten steps' time
expect_right 8 <<YAML
resumed_from: $saved
lost_steps: $((last - saved))
sigterm: saved
YAML
printf 'resumed_from: %s\nlost_steps: %s\nsigterm: lost\n' $((saved + 1)) $((last - saved + 1)) >lab8/answers.yaml
expect_exit 1 "$shoal" course check 8
expect_text out '^3 of 6 right'
cp -r lab8/runs/killed lab8/runs/kept

# Losses that do not go on.
sed -i '$s/^200,\([0-9]*\),[0-9.]*/200,\1,9.5/' lab8/runs/killed/metrics.csv
expect_exit 1 "$shoal" course check 8
expect_text out '^  not yet  continued +the whole run and the killed one: step 200 '

# Resumed on the layout that it had: the checkpoints say so.
rm -r lab8/runs/killed && cp -r lab8/runs/kept lab8/runs/killed
for step in 120 160 200; do
  rm -r "lab8/runs/killed/checkpoints/step-$(printf %09d $step)"
done
expect_exit 1 "$shoal" course check 8
expect_text out '^  not yet  moved +there is no checkpoint from after the resume yet'

# Started once, and so neither killed nor resumed.
rm -r lab8/runs/killed && cp -r lab8/runs/whole lab8/runs/killed
expect_exit 1 "$shoal" course check 8
expect_text out '^  not yet  killed +runs/killed was started only once'

# Stopped with SIGTERM: nothing was lost, so that was no kill.
rm -r lab8/runs/killed
"$shoal" launch --ranks 2 -- train lab8/run.yaml --set run.name=killed >stopped.out 2>&1 &
victim=$!
until grep -q '^50,' lab8/runs/killed/metrics.csv 2>/dev/null; do
  kill -0 $victim 2>/dev/null || { cat stopped.out >&2; fail 'the run ended before it was stopped'; }
  sleep 0.1
done
kill -TERM $victim
wait $victim || true
expect_exit 0 "$shoal" launch --ranks 2 -- train lab8/run.yaml --set run.name=killed --set train.init_from=resume --set train.steps=100
expect_exit 1 "$shoal" course check 8
expect_text out '^  not yet  killed +no step was lost'
expect_text out '^  not yet  moved +the run was resumed on the layout that it had'
expect_text out '^  not yet  continued '

# Files of a run that are damaged are told, too.
for events in lab8/runs/killed/events.*; do head -c 100 /dev/urandom >"$events"; done
expect_exit 1 "$shoal" course check 8
expect_text out '^  not yet  killed '
}

# Its labs, of a shard that tests/CMakeLists.txt asks for, or all.
for lab in 1 2 3 4 5 6 7 8; do
  [ $(((lab - 1) % ${GTEST_TOTAL_SHARDS:-1})) = "${GTEST_SHARD_INDEX:-0}" ] || continue
  echo "lab $lab"
  "lab_$lab"
done
