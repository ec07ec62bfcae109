#!/bin/bash
# No file of a package needs a newer glibc than the package promises: RHEL 9 has 2.34.
#
#   glibc_floor_test.sh PREFIX FLOOR
set -euo pipefail
prefix=$1 floor=$2
highest=0
while read -r file; do
  newest=$(readelf -V "$file" 2>/dev/null | sed -nE 's/.*Name: GLIBC_(2[0-9.]+) .*/\1/p' | sort -uV | tail -1)
  [ -n "$newest" ] || continue
  highest=$(printf '%s\n' "$highest" "$newest" | sort -V | tail -1)
  if [ "$(printf '%s\n' "$newest" "$floor" | sort -V | tail -1)" != "$floor" ]; then
    echo "${file#"$prefix"/} needs glibc $newest, the package promises $floor" >&2
    failed=1
  fi
done < <(find "$prefix/bin" "$prefix/libexec" "$prefix/lib" -type f -not -name '*.cmake')
echo "package.glibc_floor $highest"
exit "${failed:-0}"
