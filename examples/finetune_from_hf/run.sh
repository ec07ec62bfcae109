#!/bin/bash
# Continues training a Hugging Face model on a text, and exports it in the same form:
#
#   examples/finetune_from_hf/run.sh MODEL TOKENIZER TEXT DIRECTORY [--set key=value ...]
#
# MODEL is a directory with config.json and model.safetensors; its shape, not the config's, is what is trained.
set -euo pipefail
built=$(dirname "$0")/../../build/release/shoal
[ -x "$built" ] || built=$(command -v shoal || true)
shoal=$(realpath "${SHOAL:-$built}")
model=$(realpath "$1")
tokenizer=$(realpath "$2")
text=$(realpath "$3")
mkdir -p "$4" && cd "$4"

"$shoal" prepare --input "$text" --tokenizer "$tokenizer" --output tokens --validation tail:0.1
"$shoal" train --set train.init_from="$model" --set run.name=finetuned --set 'data.sources=[tokens]' \
  --set optimizer.lr=1e-4 --set optimizer.warmup=10 --set train.steps=100 "${@:5}"
"$shoal" checkpoint export runs/finetuned --output finetuned
