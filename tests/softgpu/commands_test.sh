#!/bin/bash
# Commands beside train on fake GPUs: the text and the loss of a CPU, and every collective of the bench.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/../e2e/expect.sh"
export OMP_NUM_THREADS=1
cd "$scratch"

gpus() { "$SOFTCUDA" --devices 2 --races abort --counts "$scratch/counts-%p.json" -- "$@"; }
# on_gpus WORDS...: ends with 0, a GPU had work, and the bed has nothing to say.
on_gpus() {
  rm -f counts-*.json
  expect_exit 0 gpus "$shoal" "$@"
  refuse_text err 'softcuda: '
  ls counts-*.json >/dev/null 2>&1 || fail "no GPU was used: $*"
}

for i in $(seq 400); do printf 'a shoal of %d fish swims in deep water %d\n\n' "$i" $((i * 7 % 13)); done >text.txt
expect_exit 0 "$shoal" prepare --input text.txt --separator '\n\n' --tokenizer byte --output tokens
on_gpus train --set run.directory=runs --set run.name=one --set 'data.sources=[tokens]' --set model.layers=3 --set model.width=48 --set model.heads=6 --set model.context=61 \
  --set train.batch=7 --set train.steps=20 --set train.eval_every=0

words=(generate runs/one --tokenizer byte --prompt 'a shoal of' --max-new-tokens 23 --temperature 0.7 --seed 3)
expect_exit 0 "$shoal" "${words[@]}"
cp out cpu.txt
on_gpus "${words[@]}"
cmp out cpu.txt || fail 'a GPU writes another text'
on_gpus launch --ranks 2 -- "${words[@]}" --layout tp=2
cmp out cpu.txt || fail 'two GPUs write another text'

loss_of() { sed -n 's/^ *"loss": \([0-9.]*\).*/\1/p' out; }
expect_exit 0 "$shoal" eval runs/one --data tokens --json
expected=$(loss_of)
for layout in '' tp=2 pp=2; do
  if [ "$layout" ]; then on_gpus launch --ranks 2 -- eval runs/one --data tokens --layout $layout --json; else on_gpus eval runs/one --data tokens --json; fi
  awk -v a="$expected" -v b="$(loss_of)" 'BEGIN { d = (a - b) / a; exit !(a > 0 && d < 1e-6 && d > -1e-6) }' || fail "the loss is $(loss_of), not $expected: $layout"
done

on_gpus launch --ranks 2 -- bench comm --size '4 KiB' --rounds 21
expect_text out '^comm\.send_recv\.4096\.of_bare [0-9.]+$'
[ "$(grep -c 'of_bare ' out)" = 10 ] || fail 'a collective was not measured'
