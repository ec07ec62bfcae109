#!/bin/bash
# shoal generate and shoal eval as people meet them: prompts from everywhere, a terminal, and what is said about wrong ones.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
export OMP_NUM_THREADS=1

models=$SHOAL_SOURCE_DIR/tests/golden/models
model=$models/gpt2  # 61 tokens, a context of 31
printf '%s' 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz .,!?-:;é' >"$scratch/letters"
expect_exit 0 "$shoal" tokenizer train --kind character --output "$scratch/letter_ids" "$scratch/letters"
expect_text "$scratch/out" '^  ids +61$'
tokenizer=(--tokenizer "$scratch/letter_ids")
generate=("$shoal" generate "$model" "${tokenizer[@]}")

# What transformers continues these prompts with. Ids are characters in the order of their code points.
/usr/bin/python3 - "$model/golden.safetensors" "$scratch" <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack_from("<Q", data)[0]
info = json.loads(data[8:8 + size])["greedy"]
rows, columns = info["shape"]
ids = struct.unpack_from(f"<{rows * columns}q", data, 8 + size + info["data_offsets"][0])
letters = sorted(open(f"{sys.argv[2]}/letters", encoding="utf-8").read())
with open(f"{sys.argv[2]}/prompts.jsonl", "w") as prompts, open(f"{sys.argv[2]}/wanted", "w") as wanted:
    for row in range(rows):
        line = ids[row * columns:(row + 1) * columns]
        text = "".join(letters[i] for i in line[:17])
        print(json.dumps({"prompt": text, "more": 1} if row == 1 else text), file=prompts)
        print(list(line[17:]), file=wanted)
PYTHON
expect_exit 0 "${generate[@]}" --prompts "$scratch/prompts.jsonl" --temperature 0 --max-new-tokens 11
/usr/bin/python3 - "$scratch" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(f"{sys.argv[1]}/out", encoding="utf-8")]
wanted = [json.loads(line) for line in open(f"{sys.argv[1]}/wanted")]
prompts = [json.loads(line) for line in open(f"{sys.argv[1]}/prompts.jsonl")]
assert [line["ids"] for line in lines] == wanted, lines
assert [line["prompt"] for line in lines] == [p if isinstance(p, str) else p["prompt"] for p in prompts], lines
assert all((line["prompt_tokens"], line["new_tokens"], line["stopped_by"], len(line["text"])) == (17, 11, "count", 11) for line in lines)
PYTHON
cp "$scratch/out" "$scratch/first"
"${generate[@]}" --prompts - --temperature 0 --max-new-tokens 11 --threads 1 <"$scratch/prompts.jsonl" | cmp - "$scratch/first" || fail 'standard input'

# The text itself; seeds; stopping.
expect_exit 0 "${generate[@]}" --prompt 'The cat' --max-new-tokens 9 --seed 5
cp "$scratch/out" "$scratch/first"
[ "$(wc -m <"$scratch/first")" = 10 ] || fail 'nine characters and a new line'
expect_exit 0 "${generate[@]}" --prompt 'The cat' --max-new-tokens 9 --seed 5
cmp "$scratch/out" "$scratch/first" || fail 'the same seed, another text'
expect_exit 0 "${generate[@]}" --prompt 'The cat' --max-new-tokens 9 --seed 6
! cmp -s "$scratch/out" "$scratch/first" || fail 'another seed, the same text'
text=$(cat "$scratch/first")
expect_exit 0 "${generate[@]}" --prompt 'The cat' --max-new-tokens 9 --seed 5 --stop never --stop "${text:3:3}" --json
expect_text "$scratch/out" '"stopped_by": "text", "prompt_tokens": 7, "new_tokens": 6'
expect_exit 0 "${generate[@]}" --prompt 'The cat' --seed 5
expect_text "$scratch/err" "the model's context of 31 tokens is full"
expect_exit 0 "${generate[@]}" --prompt 'The cat' --json --top-k 5 --top-p 0.9 --min-p 0.01 --repetition-penalty 1.2
expect_text "$scratch/out" '"stopped_by": "context", "prompt_tokens": 7, "new_tokens": 25'

# The model's own tokenizer, and the token its texts end with.
cp -r "$model" "$scratch/model"
cp "$scratch"/letter_ids/* "$scratch/model/"
first=$(sed -n 's/^\[\([0-9]*\),.*/\1/p;q' "$scratch/wanted")
printf '{"eos_token_id": [60000, %s]}' "$first" >"$scratch/model/generation_config.json"
head -1 "$scratch/prompts.jsonl" >"$scratch/one.jsonl"
expect_exit 0 "$shoal" generate "$scratch/model" --prompts "$scratch/one.jsonl" --temperature 0
expect_text "$scratch/out" "\"text\": \"\", \"stopped_by\": \"token\", \"prompt_tokens\": 17, \"new_tokens\": 1, \"ids\": \[$first\]"

# A terminal: one prompt per line, until Ctrl-D; a wrong one does not end it.
/usr/bin/python3 - "${generate[@]}" --max-new-tokens 3 --temperature 0 <<'PYTHON' || fail 'on a terminal'
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
os.write(ours, b"The cat\n0\nThe cat\n\x04")
out, err = process.communicate(timeout=60)
assert process.returncode == 0, err
lines = out.splitlines()
assert len(lines) == 2 and lines[0] == lines[1] and len(lines[0]) == 3, out
assert err.count("> ") == 4 and "'0' is none of the 61 characters" in err, err
PYTHON

refuse() {  # CODE PATTERN ARGUMENTS...
  expect_exit "$1" "${@:3}" </dev/null
  expect_text "$scratch/err" "$2"
}
refuse 2 'there is no prompt: give --prompt' "${generate[@]}"
refuse 2 "'$scratch/none' is no model: there is no such directory" "$shoal" generate "$scratch/none" --prompt x
refuse 2 'is no model: there is neither a config.json nor a checkpoint in it' "$shoal" generate "$scratch/letter_ids" --prompt x
refuse 2 'there is no tokenizer.json in .*: name one with --tokenizer' "$shoal" generate "$model" --prompt x
refuse 2 'the tokenizer gives token 122, but the model knows only 61' "$shoal" generate "$model" --tokenizer byte --prompt z
refuse 2 'the prompt is empty' "${generate[@]}" --prompt ''
refuse 2 'the prompt is 32 tokens long, but the model.s context is 31' "${generate[@]}" --prompt "$(printf '%32s' '')"
refuse 2 '--prompt and --prompts exclude each other' "${generate[@]}" --prompt x --prompts x
refuse 2 'not valid UTF-8' "${generate[@]}" --prompt "$(printf '\377')"
refuse 2 'temperature is -1, but must be 0' "${generate[@]}" --prompt x --temperature=-1
refuse 2 'top-p is 2, but' "${generate[@]}" --prompt x --top-p 2
refuse 2 'top-p' "${generate[@]}" --prompt x --top-p much
refuse 2 'a stop text is empty' "${generate[@]}" --prompt x --stop ''
refuse 2 "did you mean '--top-k'" "${generate[@]}" --prompt x --topk 3
refuse 3 'cannot open /no/file' "${generate[@]}" --prompts /no/file
printf '"x"\n\n{"text": "y"}\n' >"$scratch/wrong.jsonl"
refuse 3 "wrong.jsonl line 3: the line has no 'prompt'" "${generate[@]}" --prompts "$scratch/wrong.jsonl"
printf '"x' >"$scratch/wrong.jsonl"
refuse 3 'wrong.jsonl line 1: this is no JSON' "${generate[@]}" --prompts "$scratch/wrong.jsonl"
head -c 3000 "$model/model.safetensors" >"$scratch/model/model.safetensors"
refuse 3 'model.safetensors' "$shoal" generate "$scratch/model" --prompt x
printf '{"eos_token_id": "x"}' >"$scratch/model/generation_config.json"
refuse 3 "eos_token_id is no token's number" "$shoal" generate "$scratch/model" --prompt x
printf '{}' >"$scratch/model/config.json"
refuse 3 'config.json' "$shoal" generate "$scratch/model" --prompt x

# eval; eval_test.py compares its figures with those of transformers.
for _ in $(seq 40); do printf 'The cat sat on the mat.\n\nA dog ran.\n\n'; done >"$scratch/text.txt"
expect_exit 0 "$shoal" prepare --input "$scratch/text.txt" --separator '\n\n' "${tokenizer[@]}" --output "$scratch/tokens" --validation tail:0.3
eval=("$shoal" eval "$model")
expect_exit 0 "${eval[@]}" --data "$scratch/tokens"
expect_text "$scratch/out" '^  sequence length +31$'
expect_text "$scratch/out" '^  perplexity +[0-9.]+$'
expect_exit 0 "${eval[@]}" --data "$scratch/tokens" --split train --sequence-length 7 --batch 2 --batches 3
expect_text "$scratch/out" '^  samples +6 of '
printf '{"ctx": "The cat", "endings": ["sat", "ran"], "label": 0}\n' >"$scratch/items.jsonl"
expect_exit 0 "${eval[@]}" --choices "$scratch/items.jsonl" "${tokenizer[@]}"
expect_text "$scratch/out" '^  accuracy by bytes +[01]\.0000'
refuse 2 'give --data DIR .* or --choices FILE' "${eval[@]}"
refuse 2 "--split is 'test'" "${eval[@]}" --data "$scratch/tokens" --split test
refuse 2 'the sequence length is 32, but' "${eval[@]}" --data "$scratch/tokens" --sequence-length 32
refuse 2 '--details is for --choices' "${eval[@]}" --data "$scratch/tokens" --details x
refuse 3 'has no manifest.json' "${eval[@]}" --data "$scratch/none"
for wrong in '{"ctx": "a"}' '{"ctx": "a", "endings": "b", "label": 0}' '{"ctx": "a", "endings": ["b"], "label": 1}' '[]' '{"ctx": "", "endings": ["b"], "label": 0}'; do
  printf '%s\n' "$wrong" >"$scratch/wrong.jsonl"
  refuse 3 'wrong.jsonl line 1: ' "${eval[@]}" --choices "$scratch/wrong.jsonl" "${tokenizer[@]}"
done
