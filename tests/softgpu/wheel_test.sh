#!/bin/bash
# `pip install` of the wheel with CUDA, beside torch's wheel, gives a command that trains on two fake GPUs. Torch's is not
# downloaded again: links to the one that the build uses stand where pip would put it.
#
#   wheel_test.sh DIRECTORY
set -euo pipefail
directory=$1
source=$(realpath "$(dirname "$0")/../..")
python=$(command -v python3)  # that of the environment has no pip
rm -rf "$directory" && mkdir -p "$directory" && cd "$directory"
cmake --install "$SHOAL_RELEASE_DIR" --prefix prefix --component commands >/dev/null
wheel=$("$source/tools/make_wheel.py" prefix . --cuda "$SHOAL_BINARY_DIR/portable/shoal-engine" --store)
unzip -p "$wheel" '*/METADATA' | grep -q '^Requires-Dist: torch==2\.[0-9.]*$'
"$python" -m venv --without-pip environment
packages=$(echo environment/lib/python3.*/site-packages)
ln -s "$(realpath "$SHOAL_TORCH_SITE")"/{torch,nvidia} "$packages"
"$python" -m pip --python environment/bin/python --quiet --disable-pip-version-check install --no-index --no-deps "$wheel"
PATH=$PWD/environment/bin:$PATH
"$SOFTCUDA" --devices 2 -- shoal --version | tee version.txt
grep -q '^engine: libtorch .* on CUDA$' version.txt
grep -q '^backends: .*nccl' version.txt
# Nothing of the build's own tree, and nothing of torch that was carried along.
ldd environment/libexec/shoal/shoal-engine >libraries.txt
if grep -E 'not found|\.deps|/build/release/' libraries.txt; then exit 1; fi
grep -q 'site-packages/torch/lib/libtorch_cuda.so' libraries.txt
[ ! -e environment/lib/shoal/libtorch_cpu.so ]
du -h "$wheel"
shoal prepare --input examples/train_shakespeare/shakespeare.txt --tokenizer byte --output tokens >/dev/null
OMP_NUM_THREADS=1 "$SOFTCUDA" --devices 2 --races abort --counts "$PWD/counts-%p.json" -- shoal launch --ranks 2 -- train configs/shakespeare.yaml \
  --set train.steps=3 --set train.eval_every=0 --set model.layers=1 --set parallel.sharding=full_shard >log.txt 2>&1 || { cat log.txt; exit 1; }
ls counts-*.json >/dev/null
