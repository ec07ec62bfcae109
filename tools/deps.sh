#!/bin/bash
# Brings a Debian 12 host from nothing to buildable, and other hosts without root.
#
#   tools/deps.sh [SET...]                     lean, engine, check, cuda (see tools/deps.lock); default: lean engine
#   tools/deps.sh --debs|--wheels [SET...]     only the Debian packages, or only the wheels
#   tools/deps.sh --no-root PREFIX [SET...]    lean, engine, cuda; builds libraries from source into PREFIX instead
#
# Debian packages are installed system-wide (needs root or sudo, only when one is missing). Wheels are
# downloaded by version and hash and unpacked side by side under .deps/site, where libtorch finds its
# neighbours by its own RPATH. Running it again installs only what is missing. docs/install.md is about --no-root.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/.."

lock=tools/deps.lock
site=.deps/site
stamps=.deps/stamps

say() { printf 'deps: %s\n' "$*" >&2; }

entries() {  # KIND SET -> the remaining columns of each matching line
  awk -v kind="$1" -v set="$2" '$1 == kind && $2 == set { $1 = $2 = ""; print }' "$lock"
}

retry() {  # COMMAND...: up to three times; mirrors and indices fail now and then
  local attempt
  for attempt in 1 2; do
    "$@" && return
    say "failed, and is tried again: $*"
    sleep $((attempt * 10))
  done
  "$@"
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
  local apt=("${root[@]}" apt-get -qq -o Acquire::Retries=5)
  retry "${apt[@]}" update
  retry "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# Unpacks the wheels of a set that are missing. One call of pip downloads all of them, because each start of pip takes two seconds.
install_set() {  # SET
  local name version sha256 download wheel missing=()
  download=$(mktemp -d .deps/download.XXXXXX)
  while read -r name version sha256; do
    if [ -z "$name" ] || [ -e "$stamps/$name-$version" ]; then continue; fi
    missing+=("$name-$version")
    printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" >>"$download/requirements.txt"
  done < <(entries wheel "$1")
  if [ ${#missing[@]} -gt 0 ]; then
    say "fetching ${missing[*]}"
    # A wheel is only a container of headers and libraries, so the Python version of this host does not matter.
    retry python3 -m pip download --retries 5 --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
      --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
      --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
      --platform manylinux2010_x86_64 --platform any \
      -d "$download" -r "$download/requirements.txt"
    for wheel in "$download"/*.whl; do
      if command -v unzip >/dev/null; then
        unzip -q -o "$wheel" -d "$site"
      else
        python3 -m zipfile -e "$wheel" "$site"
      fi
      rm "$wheel"
    done
    (cd "$stamps" && touch "${missing[@]}")
  fi
  rm -rf "$download"
}

install_wheels() {  # SET...
  local set
  mkdir -p .deps "$site" "$stamps"
  rm -rf .deps/download.*  # left behind by an interrupted run
  for set in "$@"; do install_set "$set"; done
}

check_host() {  # what --no-root cannot bring along
  local program version
  for program in "${CC:-cc}" "${CXX:-c++}" ar make tar xz sha256sum python3; do
    command -v "$program" >/dev/null || { say "no $program on the PATH: load your site's compiler and python modules"; exit 2; }
  done
  version=$("${CXX:-c++}" -dumpversion)
  [ "${version%%.*}" -ge 12 ] || { say "${CXX:-c++} is version $version, but g++ >= 12 is needed: load a newer one, or set CC and CXX"; exit 2; }
  version=$(python3 -m pip --version 2>/dev/null | cut -d' ' -f2)
  [ "${version%%.*}" -ge 21 ] 2>/dev/null ||
    { say "python3 has pip ${version:-none}, but 21 or newer is needed: python3 -m pip install --user --upgrade pip"; exit 2; }
}

install_build_tools() {  # into $prefix: cmake, ninja, and pkg-config where there is none
  site=$prefix/site stamps=$prefix/stamps install_wheels no-root
  chmod +x "$prefix"/site/{cmake,ninja}/data/bin/* "$prefix/site/pkgconf/.bin/pkgconf"
  ln -sf ../site/cmake/data/bin/{cmake,ctest,cpack} ../site/ninja/data/bin/ninja "$prefix/bin/"
  command -v pkg-config >/dev/null || ln -sf ../site/pkgconf/.bin/pkgconf "$prefix/bin/pkg-config"
}

build_sources() {  # SET...
  local line
  for set in "$@"; do
    while read -r line; do
      # shellcheck disable=SC2086  # the line is columns
      [ -z "$line" ] || tools/build_source.sh "$prefix" $line </dev/null
    done < <(entries source "$set")
  done
}

without_root() {  # SET...
  local preset=lean
  case " $* " in *" engine "*) preset=release ;; esac
  check_host
  prefix=$(cd "$from" && mkdir -p "$prefix/bin" && cd "$prefix" && pwd)
  case $prefix in *[[:space:]]*) say "'$prefix' has white space in it, which not every build survives"; exit 2 ;; esac
  export PATH=$prefix/bin:$PATH
  install_build_tools
  build_sources "$@"
  install_wheels "$@"
  say "ready in $prefix: $*; configure with"
  printf '%s\n' "export PATH=$prefix/bin:\$PATH" \
    "cmake --preset $preset -DCMAKE_PREFIX_PATH=$prefix -DCMAKE_CXX_FLAGS='-isystem $prefix/include'"
}

[ "$(uname -m)" = x86_64 ] || { say "only x86_64 is supported, this host is $(uname -m)"; exit 2; }
prefix=
known='lean engine check cuda'
if [ "${1:-}" = --no-root ]; then
  prefix=${2:-}
  known='lean engine cuda'
  [ -n "$prefix" ] || { say "usage: tools/deps.sh --no-root PREFIX [SET...]"; exit 2; }
  shift 2
fi
only=
case ${1:-} in --debs | --wheels) only=$1; shift ;; esac
sets=("$@")
[ ${#sets[@]} -gt 0 ] || sets=(lean engine)
for set in "${sets[@]}"; do
  case " $known " in *" $set "*) ;; *) say "no set '$set' here: $known"; exit 2 ;; esac
done
if [ -n "$prefix" ]; then
  without_root "${sets[@]}"
else
  [ "$only" = --wheels ] || install_debs "${sets[@]}"
  [ "$only" = --debs ] || install_wheels "${sets[@]}"
  say "ready: ${sets[*]}"
fi
