#!/bin/bash
# Fails when the one file that includes Debian's old gloo headers defines a gloo symbol: it would override the newer one
# inside libtorch, at link time and without a word.
#   tools/check_gloo_symbols.sh BUILD_DIR
set -euo pipefail
object=$(find "${1:?build directory}" -path '*comm*' -name 'process_group.cpp.o')
[ -n "$object" ] || { echo "gloo symbols: no process_group.cpp.o under $1" >&2; exit 1; }
# Defined symbols: every type but U (undefined) and w (weak, undefined).
defined=$(nm -C --defined-only "$object" | cut -d' ' -f3- |
  grep -E '^(vtable for |typeinfo (name )?for |VTT for |construction vtable for |guard variable for )?(gloo::|c10d::ProcessGroupGloo::GlooStore)' || true)
if [ -n "$defined" ]; then
  printf 'gloo symbols: %s defines\n%s\n' "$object" "$defined" >&2
  exit 1
fi
grep -q 'ProcessGroupGloo' <(nm -C "$object") || { echo "gloo symbols: $object does not use Gloo at all" >&2; exit 1; }
echo "gloo symbols: none defined"
