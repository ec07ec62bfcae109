#!/bin/bash
# test.sh PROGRAM TEXT DIRECTORY: the program learns, and its sample is what `shoal generate` says with the same checkpoint.
set -euo pipefail
program=$1 text=$2 directory=$3
rm -rf "$directory"
"$program" "$text" "$directory" | tee "$directory.txt"
grep -Eq '^validation loss 6\.[0-9]+ -> [2-5]\.' "$directory.txt"
"$SHOAL" generate "$directory" --tokenizer "$directory/tokenizer.json" --prompt "The " --temperature 0.8 \
  --max-new-tokens 60 >"$directory.sample"
sed -n '/^sample: The /,$p' "$directory.txt" | sed '1s/^sample: The //' | diff -a - "$directory.sample"
echo "shoal generate says the same"
