#!/bin/bash
# Brings a Debian 12 host from nothing to buildable.
#
#   tools/deps.sh [SET...]      lean, engine, check, cuda (see tools/deps.lock); default: lean engine
#
# Debian packages are installed system-wide (needs root or sudo, only when one is missing). Wheels are
# downloaded by version and hash and unpacked side by side under .deps/site, where libtorch finds its
# neighbours by its own RPATH. Running it again installs only what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

lock=tools/deps.lock
site=.deps/site
stamps=.deps/stamps

say() { printf 'deps: %s\n' "$*" >&2; }

entries() {  # KIND SET -> the remaining columns of each matching line
  awk -v kind="$1" -v set="$2" '$1 == kind && $2 == set { $1 = $2 = ""; print }' "$lock"
}

install_debs() {
  local missing=() package
  for package in $(for set in "$@"; do entries deb "$set"; done); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get update -qq
  "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_wheel() {  # NAME VERSION SHA256
  local name=$1 version=$2 sha256=$3
  local stamp=$stamps/$name-$version
  [ -e "$stamp" ] && return
  say "fetching $name $version"
  local download
  download=$(mktemp -d .deps/download.XXXXXX)
  printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" >"$download/requirement.txt"
  # The wheel is only a container of headers and libraries, so the Python version of this host does not matter.
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux2010_x86_64 --platform any \
    -d "$download" -r "$download/requirement.txt"
  unzip -q -o "$download"/*.whl -d "$site"
  rm -rf "$download"
  touch "$stamp"
}

install_wheels() {
  local line
  mkdir -p "$site" "$stamps"
  rm -rf .deps/download.*  # left behind by an interrupted run
  for set in "$@"; do
    while read -r line; do
      # shellcheck disable=SC2086  # the line is three columns
      [ -n "$line" ] && install_wheel $line
    done < <(entries wheel "$set")
  done
}

[ "$(uname -m)" = x86_64 ] || { say "only x86_64 is supported, this host is $(uname -m)"; exit 2; }
sets=("$@")
[ ${#sets[@]} -gt 0 ] || sets=(lean engine)
for set in "${sets[@]}"; do
  grep -Eq "^(deb|wheel) +$set " "$lock" || { say "no set '$set' in $lock: lean, engine, check or cuda"; exit 2; }
done
install_debs "${sets[@]}"
install_wheels "${sets[@]}"
say "ready: ${sets[*]}"
