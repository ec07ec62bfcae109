#!/bin/bash
# Text in many languages for comparing tokenizers: manual pages and documentation of Debian 12.
#
#   tools/make_mixed_text.sh DIR      DIR/text/*.txt, about 90 MB, and DIR/list.txt: SHA-256 and name of each file
#
# Packages are downloaded and unpacked, not installed.
set -euo pipefail
directory=$(mkdir -p "$1" && cd "$1" && pwd)
packages=(
  manpages manpages-dev manpages-cs manpages-da manpages-de manpages-el manpages-es manpages-fi manpages-fr manpages-hu
  manpages-id manpages-it manpages-ja manpages-mk manpages-nb manpages-nl manpages-pl manpages-pt-br manpages-ro manpages-ru
  manpages-sr manpages-sv manpages-uk manpages-vi manpages-zh manpages-fr-extra manpages-de-dev manpages-fr-dev manpages-es-dev
  debian-reference-de debian-reference-en debian-reference-es debian-reference-fr debian-reference-it debian-reference-ja
  debian-reference-pt debian-reference-zh-cn debian-handbook perl-doc developers-reference-de developers-reference-fr
  developers-reference-ja developers-reference-ru maint-guide-ca maint-guide-zh-cn maint-guide-zh-tw debian-faq-ja debian-faq-zh-cn
)
mkdir -p "$directory/packages" "$directory/text"
cd "$directory/packages"
for package in "${packages[@]}"; do
  [ -d "$package" ] && continue
  if apt-get download -qq "$package" 2>/dev/null; then
    dpkg-deb -x "$package"_*.deb "$package" && rm -f "$package"_*.deb
  else
    echo "$package is not in this release" >&2
  fi
done
for package in "${packages[@]}"; do
  [ -d "$package" ] || continue
  # All files of a package in one text, in the order of their names.
  find "$package" -type f \( -name '*.gz' -o -name '*.txt' -o -name '*.html' -o -name '*.pod' -o -name '*.[1-8]' \) | LC_ALL=C sort |
    while read -r file; do
      case $file in *.gz) zcat -- "$file" ;; *) cat -- "$file" ;; esac
    done >"../text/$package.txt"
done
cd "$directory/text"
find . -name '*.txt' -size 0 -delete
sha256sum -- *.txt >../list.txt
du -cb -- *.txt | tail -1
