#!/bin/bash
# shoal generate and shoal eval on several ranks: the text, the loss and the choices of one.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
export OMP_NUM_THREADS=1

models=$SHOAL_SOURCE_DIR/tests/golden/models  # 61 tokens, a context of 31
printf '%s' 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz .,!?-:;é' >"$scratch/letters"
expect_exit 0 "$shoal" tokenizer train --kind character --output "$scratch/letter_ids" "$scratch/letters"
tokenizer=(--tokenizer "$scratch/letter_ids")
printf '%s\n' '"The cat"' '{"prompt": "A dog, and"}' >"$scratch/prompts.jsonl"
printf '%s\n' '{"ctx": "The cat", "endings": ["sat.", "went away", "is a dog"], "label": 1}' \
  '{"ctx": "A dog", "endings": ["runs", "No"], "label": 0}' >"$scratch/choices.jsonl"
for _ in $(seq 40); do printf "The ABCDEFG cats, and dogs; who is it? "; done >"$scratch/text.txt"
expect_exit 0 "$shoal" prepare --input "$scratch/text.txt" "${tokenizer[@]}" --output "$scratch/tokens" --validation tail:0.3

cases=('gpt2 2 tp=2' 'llama 2 pp=2' 'gpt2 3 sharding=full_shard' 'llama 4 tp=2,pp=2' 'llama 2 tp=2' 'gpt2 2 pp=2' 'llama 3 sharding=full_shard' 'gpt2 4 tp=2,pp=2')
for i in "${!cases[@]}"; do
  [ $((i % ${GTEST_TOTAL_SHARDS:-1})) = "${GTEST_SHARD_INDEX:-0}" ] || continue  # another shard of tests/e2e/CMakeLists.txt
  read -r model ranks layout <<<"${cases[i]}"
  write=(generate "$models/$model" "${tokenizer[@]}" --prompts "$scratch/prompts.jsonl" --max-new-tokens 14 --seed 3)
  choose=(eval "$models/$model" "${tokenizer[@]}" --choices "$scratch/choices.jsonl" --details "$scratch/details" --json)
  judge=(eval "$models/$model" --data "$scratch/tokens" --batch 3 --json)
  expect_exit 0 "$shoal" "${write[@]}"
  cp "$scratch/out" "$scratch/text_of_one"
  expect_exit 0 "$shoal" "${choose[@]}"
  cp "$scratch/out" "$scratch/choices_of_one"
  expect_exit 0 "$shoal" "${judge[@]}"
  cp "$scratch/out" "$scratch/loss_of_one"
  many=("$shoal" launch --ranks "$ranks" --)
  expect_exit 0 "${many[@]}" "${write[@]}" --layout "$layout"
  cmp "$scratch/out" "$scratch/text_of_one" || fail "$model writes something else on $layout"
  expect_exit 0 "${many[@]}" "${choose[@]}" --layout "$layout"
  cmp "$scratch/out" "$scratch/choices_of_one" || fail "$model chooses something else on $layout"
  expect_exit 0 "${many[@]}" "${judge[@]}" --layout "$layout"
  /usr/bin/python3 - "$scratch" <<'PYTHON'
import json, sys
one, many = (json.load(open(f"{sys.argv[1]}/{name}"))["data"] for name in ("loss_of_one", "out"))
assert one["targets"] == many["targets"] > 100, (one, many)
assert abs(one["loss"] - many["loss"]) < 1e-6 * one["loss"], (one, many)
PYTHON
done

# A checkpoint of one rank.
cat >"$scratch/small.yaml" <<'YAML'
model: {layers: 3, width: 24, heads: 3, hidden: 41, context: 23, tied: false}
train: {steps: 2, batch: 3, eval_every: 0}
YAML
expect_exit 0 "$shoal" train "$scratch/small.yaml" --set "data.sources=[$scratch/tokens]" --set "run.directory=$scratch/runs" --set run.name=one
write=(generate "$scratch/runs/one" "${tokenizer[@]}" --prompt 'The cat' --max-new-tokens 14 --temperature 0 --json)
expect_exit 0 "$shoal" "${write[@]}"
cp "$scratch/out" "$scratch/text_of_one"
expect_exit 0 "$shoal" launch --ranks 4 -- "${write[@]}" --layout tp=2,pp=2
cmp "$scratch/out" "$scratch/text_of_one" || fail 'a checkpoint writes something else on 4 ranks'

# Weights of others can be trained on in any layout, and begin with the loss that one rank finds.
train=(train --set "train.init_from=$models/llama" --set "data.sources=[$scratch/tokens]" --set "run.directory=$scratch/runs"
  --set train.eval_only=true --set data.packing=concatenate)
expect_exit 0 "$shoal" "${train[@]}"
cp "$scratch/out" "$scratch/loss_of_one"
expect_exit 0 "$shoal" launch --ranks 2 -- "${train[@]}" --set parallel.tp=2
cmp "$scratch/out" "$scratch/loss_of_one" || fail 'weights of others are not the same with tp=2'

# One rank of a tensor-parallel group may read for all of them: the same losses.
train=(launch --ranks 2 -- train "$scratch/small.yaml" --set "data.sources=[$scratch/tokens]" --set "run.directory=$scratch/runs"
  --set parallel.tp=2)
expect_exit 0 "$shoal" "${train[@]}" --set run.name=all_read
expect_exit 0 "$shoal" "${train[@]}" --set run.name=leader_reads --set data.read=leader
losses() { cut -d, -f1-4 "$scratch/runs/$1/metrics.csv"; }
losses all_read >"$scratch/of_all"
losses leader_reads | cmp - "$scratch/of_all" || fail 'data.read: leader trains on other batches'

# What is wrong.
expect_exit 2 "$shoal" generate "$models/gpt2" "${tokenizer[@]}" --prompt A --layout tp=2
expect_text "$scratch/err" 'launch 2 ranks|does not divide 1 rank'
expect_exit 2 "$shoal" launch --ranks 2 -- generate "$models/gpt2" "${tokenizer[@]}" --prompts - --layout tp=2
expect_text "$scratch/err" 'standard input comes to one rank only'
expect_exit 2 "$shoal" generate "$models/gpt2" "${tokenizer[@]}" --prompt A --set model.layers=3
expect_text "$scratch/err" 'what the model is, its files say'
expect_exit 2 "$shoal" launch --ranks 6 -- generate "$models/gpt2" "${tokenizer[@]}" --prompt A --layout pp=6
expect_text "$scratch/err" 'use at most . stages'
