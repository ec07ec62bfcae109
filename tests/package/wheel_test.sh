#!/bin/bash
# `pip install` of the wheel gives a command that trains.
#
#   wheel_test.sh PREFIX DIRECTORY
set -euo pipefail
prefix=$1 directory=$2
python=$(command -v python3)  # that of the environment has no pip
source=$(realpath "$(dirname "$0")/../..")
rm -rf "$directory" && mkdir -p "$directory" && cd "$directory"
"$python" -m venv --without-pip environment
wheel=$("$source/tools/make_wheel.py" "$prefix" . --store)
"$python" -m pip --python environment/bin/python --quiet --disable-pip-version-check install --no-index --no-deps "$wheel"
PATH=$PWD/environment/bin:$PATH
shoal --version | tee version.txt
grep -q '^engine: libtorch' version.txt
shoal prepare --input examples/train_shakespeare/shakespeare.txt --tokenizer byte --output tokens
shoal train configs/shakespeare.yaml --set train.steps=2 --set train.eval_every=0 >log.txt || { cat log.txt; exit 1; }
"$python" -m pip --python environment/bin/python --quiet --disable-pip-version-check uninstall --yes shoal
[ ! -e environment/libexec/shoal/shoal-engine ]
