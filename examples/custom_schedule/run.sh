#!/bin/bash
# Trains with a pipeline schedule from a file, on two ranks:
#
#   examples/custom_schedule/run.sh TEXT DIRECTORY [--set key=value ...]
#
# The schedule is simulated first, then it is shown that it trains like one rank.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
built=$here/../../build/release/shoal
[ -x "$built" ] || built=$(command -v shoal || true)
shoal=$(realpath "${SHOAL:-$built}")
config=$here/../../configs/shakespeare.yaml
text=$(realpath "$1")
mkdir -p "$2" && cd "$2"

"$shoal" schedule "$here/eager.txt" --transfer 0.5
"$shoal" prepare --input "$text" --tokenizer byte --output tokens --validation tail:0.1
own=(--set parallel.schedule=file --set parallel.schedule_file="$here/eager.txt" --set train.micro_batch=2)  # 12 / 2: six of them
"$shoal" verify "$config" --layout pp=2 --steps 2 "${own[@]}" | tail -1
"$shoal" launch --ranks 2 -- train "$config" --set run.name=eager --set parallel.pp=2 "${own[@]}" \
  --set train.steps=10 --set train.log_every=5 --set train.eval_every=0 --set train.threads=1 "${@:3}"
