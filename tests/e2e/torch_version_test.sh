#!/bin/bash
# A libtorch that is not the pinned one is refused by name, before anything is compiled.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

configure() { cmake -S "$SHOAL_SOURCE_DIR" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@"; }

expect_exit 1 configure -DSHOAL_TORCH="$scratch/none"
expect_text "$scratch/err" "no libtorch in SHOAL_TORCH"
expect_text "$scratch/err" 'tools/deps.sh'

mkdir -p "$scratch/torch/include/torch/headeronly"
printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 9\n#define TORCH_VERSION_PATCH 1\n' \
  >"$scratch/torch/include/torch/headeronly/version.h"
expect_exit 1 configure -DSHOAL_TORCH="$scratch/torch"
expect_text "$scratch/err" 'SHOAL_TORCH is libtorch 2\.9\.1'
expect_text "$scratch/err" 'SHOAL_UNTESTED_TORCH=ON'

# Accepted at one's own risk: it gets as far as trying gloo, which this empty directory cannot do.
expect_exit 1 configure -DSHOAL_TORCH="$scratch/torch" -DSHOAL_UNTESTED_TORCH=ON
expect_text "$scratch/err" 'libtorch 2\.9\.1 is untested'
expect_text "$scratch/err" 'Gloo does not compile here'
