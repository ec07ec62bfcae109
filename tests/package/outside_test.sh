#!/bin/bash
# The example of a project outside of this tree, as it is installed, builds against the package, and its own model trains like one rank on
# four layouts.
#
#   outside_test.sh PREFIX DIRECTORY      SHOAL_TORCH names libtorch's headers
set -euo pipefail
prefix=$1 directory=$2
rm -rf "$directory" && mkdir -p "$directory" && cp -r "$prefix/share/shoal/examples/library" "$directory/project" && cd "$directory"

if cmake -S project -B wrong -DCMAKE_PREFIX_PATH="$prefix" -DSHOAL_TORCH=/nowhere >wrong.log 2>&1; then
  echo 'without headers of libtorch the package is found all the same' >&2
  exit 1
fi
grep -q 'shoal needs the headers of libtorch' wrong.log
cmake -S project -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DSHOAL_TORCH="$SHOAL_TORCH" >/dev/null
cmake --build build >build.log || { cat build.log; exit 1; }

export OMP_NUM_THREADS=1
build/counting | tee alone.txt
grep -Eq 'step 100, loss (0\.0|[0-9.]*e-)' alone.txt
verify() {  # RANKS SET...
  "$prefix/bin/shoal" launch --ranks "$1" -- build/counting --verify "${@:2}" | tee verdict.txt
  grep -q '^trains like one rank' verdict.txt
}
verify 2 parallel.sharding=full_shard
verify 4 parallel.sharding=hybrid_shard parallel.dp_replicate=2
verify 3 parallel.pp=3
verify 4 parallel.tp=2 parallel.sharding=full_shard

# A block that forgets that a rank has only some of the heads is found.
sed 's/x + attend(x, pass) + mlp/x + attend(x, pass) * static_cast<double>(heads_.heads) + mlp/' -i project/parallel_block.cpp
cmake --build build >build.log || { cat build.log; exit 1; }
if verify 4 parallel.tp=2; then
  echo 'a wrong block passes' >&2
  exit 1
fi
