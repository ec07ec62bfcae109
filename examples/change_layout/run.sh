#!/bin/bash
# A run that moves between layouts: four ranks that split every matrix and the layers, then three that divide the weights, then one.
#
#   examples/change_layout/run.sh TEXT DIRECTORY [--set key=value ...]
#
# First it is shown that the layout trains like one rank. The losses go on where they were, whatever the ranks.
set -euo pipefail
built=$(dirname "$0")/../../build/release/shoal
[ -x "$built" ] || built=$(command -v shoal || true)
shoal=${SHOAL:-$built}
config=$(realpath "$(dirname "$0")/../../configs/shakespeare.yaml")
text=$(realpath "$1")
shoal=$(realpath "$shoal")
mkdir -p "$2" && cd "$2"

"$shoal" prepare --input "$text" --tokenizer byte --output tokens --validation tail:0.1
"$shoal" verify "$config" --layout tp=2,pp=2 --steps 2 --set train.batch=5 --set train.micro_batch=2 | tail -1
train() {  # RANKS STEPS [--set ...]
  "$shoal" launch --ranks "$1" -- train "$config" --set run.name=moving --set train.init_from=resume --set train.steps="$2" \
    --set optimizer.decay=60 --set train.log_every=10 --set train.threads=1 "${@:3}"
}
train 4 20 --set parallel.tp=2 --set parallel.pp=2 --set train.micro_batch=3 "${@:3}"
train 3 40 --set parallel.sharding=full_shard "${@:3}"
train 1 60 "${@:3}"
