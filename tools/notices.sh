#!/bin/bash
# Gathers the licences of the libraries in a package.
#
#   tools/notices.sh SITE LIBRARIES OUT      wheels below SITE, libraries that were packaged, directory to write
set -euo pipefail
site=$1 libraries=$2 out=$3
mkdir -p "$out"

# A wheel's licence files, under its name.
for info in "$site"/*.dist-info; do
  name=$(basename "$info" .dist-info)
  case $name in torch-* | pyarrow-* | nvidia_cuda_runtime-* | nvidia_cuda_cupti-*) ;; *) continue ;; esac
  find "$info" -type f \( -iname 'licen[sc]e*' -o -iname 'notice*' -o -iname 'copying*' \) | while read -r file; do
    inside=${file#"$info"/}
    cp "$file" "$out/$name.${inside//\//.}"
  done
done
# Debian's packages have one file each; a library is found by its name without the path.
for library in "$libraries"/*; do
  package=$(dpkg-query -S "/usr/lib/x86_64-linux-gnu/$(basename "$library")" 2>/dev/null | head -1 | cut -d: -f1 || true)
  if [ -n "$package" ] && [ -e "/usr/share/doc/$package/copyright" ]; then
    cp "/usr/share/doc/$package/copyright" "$out/$package.txt"
  fi
done
chmod 644 "$out"/*
