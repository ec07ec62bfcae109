#!/bin/bash
# How soon .ci/run reports a fault, without the time that packages and wheels take: tests/gate/planted_faults.sh SCRATCH_DIR
# Each fault is committed to a clone of HEAD in SCRATCH_DIR. Takes a quarter of an hour.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$1
mkdir -p "$scratch"

plant() { # FAULT
  case $1 in
    format) sed -i '0,/^namespace/s//int   unformatted;\nnamespace/' shoal/core/console.cpp ;;
    link) echo '[nowhere](nowhere.md)' >>docs/training.md ;;
    compile) echo 'static_assert(sizeof(int) == 5);' >>shoal/parallel/executor.cpp ;;
    unit) sed -i '0,/EXPECT_EQ(/s//EXPECT_NE(/' tests/data/order/packing_test.cpp ;;
  esac
}

report() { # FAULT MOST_MINUTES
  local tree=$scratch/$1 code=0
  rm -rf "$tree"
  git clone -q "$root" "$tree"
  [ ! -d "$root/.deps" ] || cp -al "$root/.deps" "$tree/.deps"
  cd "$tree"
  plant "$1"
  git -c user.name=fault -c user.email=fault@example commit -q -a -m "Plant a fault: $1"
  CCACHE_DISABLE=1 bash .ci/run >run.log 2>&1 || code=$?
  local all downloads
  all=$(sed -n 's/^==== exit code [0-9]* after \([0-9]*\) s.*/\1/p' run.log)
  downloads=$(awk -F '\t' '$1 ~ /^Debian packages|^wheels/ { s += $2 } END { print s + 0 }' build/steps.tsv)
  printf '%-8s exit code %d after %d s, %d s of them for packages and wheels; limit %d s\n' "$1" "$code" "$all" "$downloads" $(($2 * 60))
  [ "$code" != 0 ] && [ $((all - downloads)) -le $(($2 * 60)) ]
}

report format 1
report link 1
report compile 3
report unit 15
