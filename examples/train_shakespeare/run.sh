#!/bin/bash
# From a text to a sample of one's own in three commands:
#
#   examples/train_shakespeare/run.sh TEXT DIRECTORY [--set key=value ...]
#
# Any text will do. Letters are bytes here, so nothing has to be learned before.
set -euo pipefail
built=$(dirname "$0")/../../build/release/shoal
[ -x "$built" ] || built=$(command -v shoal || true)
shoal=${SHOAL:-$built}
config=$(realpath "$(dirname "$0")/../../configs/shakespeare.yaml")
text=$(realpath "$1")
shoal=$(realpath "$shoal")
mkdir -p "$2" && cd "$2"

"$shoal" prepare --input "$text" --tokenizer byte --output tokens --validation tail:0.1
"$shoal" train "$config" "${@:3}"
"$shoal" generate runs/shakespeare --prompt "ROMEO:" --max-new-tokens 300 --slide
