#!/bin/bash
# Runs the example on a model of the tests, which knows 61 characters: test.sh DIRECTORY
set -euo pipefail
here=$(dirname "$0")
rm -rf "$1" && mkdir -p "$1"
tr -cd 'a-z \n' <"$here/../../LICENSE" >"$1/text.txt"
"$SHOAL" tokenizer train "$1/text.txt" --kind character --output "$1/tokenizer"
"$here/run.sh" "$here/../../tests/golden/models/gpt2" "$1/tokenizer" "$1/text.txt" "$1/work" --set train.steps=30
ls "$1/work/finetuned/model.safetensors" "$1/work/finetuned/config.json"
