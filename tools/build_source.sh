#!/bin/bash
# Builds one library from its pinned source archive, for hosts where nobody may install packages (tools/deps.sh --no-root).
#
#   tools/build_source.sh PREFIX NAME VERSION SHA256 PATH HOW [OPTION...]      the columns of a `source` line of tools/deps.lock
#
# The archive PATH comes from the Debian mirror SHOAL_SOURCE_MIRROR and is unpacked only if its hash is SHA256. Headers and
# libraries go to PREFIX/include and PREFIX/lib, the output of the build to PREFIX/log/NAME.log. A stamp in PREFIX/stamps holds
# the line that was built: the same line is not built twice, a changed one is.
set -euo pipefail

prefix=$1 name=$2 version=$3 sha256=$4 path=$5 how=$6
options=("${@:7}")
mirror=${SHOAL_SOURCE_MIRROR:-http://deb.debian.org/debian}
log=$prefix/log/$name.log
stamp=$prefix/stamps/$name
cores=$(getconf _NPROCESSORS_ONLN)

say() { printf 'deps: %s\n' "$*" >&3; }

fail() {
  reason=$*
  exit 1
}

download() {  # URL FILE; python3 is needed for the wheels anyway, and curl is not
  python3 - "$1" "$2" <<'PYTHON'
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=120) as source, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(source, out)
PYTHON
}

pc_file() {  # MODULE LIBRARY: what a build without configure leaves out
  cat >"$prefix/lib/pkgconfig/$1.pc" <<EOF
Name: $1
Description: $name, built by tools/deps.sh
Version: $version
Libs: -L$prefix/lib -l$2
Cflags: -I$prefix/include
EOF
}

build_cmake() {
  cmake -S . -B build.shoal -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON "-DCMAKE_INSTALL_RPATH=\$ORIGIN" \
    -DBUILD_TESTING=OFF "${options[@]}"
  cmake --build build.shoal
  cmake --install build.shoal
}

build_configure() {
  ./configure --prefix="$prefix" "${options[@]}"
  make -j "$cores"
  make install
}

build_make() { make -j "$cores" prefix="$prefix" PREFIX="$prefix" "${options[@]}"; }

build_headers() { cp -r "${options[0]}/." "$prefix/include/"; }  # DIRECTORY

build_isal() {  # only its CRCs; its makefile installs programs that these do not have
  make -j "$cores" -f Makefile.unx units=crc CC="${CC:-cc}" version="$version" slib isa-l.h
  mkdir -p "$prefix/include/isa-l"
  cp include/crc.h include/crc64.h include/types.h "$prefix/include/isa-l/"
  cp bin/libisal.so "$prefix/lib/libisal.so.$version"
  ln -sf "libisal.so.$version" "$prefix/lib/libisal.so.${version%%.*}"
  ln -sf "libisal.so.$version" "$prefix/lib/libisal.so"
  pc_file libisal isal
}

# The archive has no configure, and a host need not have autotools. What configure would find on any x86_64 Linux with
# glibc >= 2.25 is said here; without the HAVE_*INTRIN_H the portable code is taken, which for SHA-256 is the only one there is.
build_sodium() {  # MAJOR MINOR of the library's own interface
  local headers=src/libsodium/include source compile
  sed -e "s/@VERSION@/$version/; s/@SODIUM_LIBRARY_VERSION_MAJOR@/${options[0]}/" \
    -e "s/@SODIUM_LIBRARY_VERSION_MINOR@/${options[1]}/; s/@SODIUM_LIBRARY_MINIMAL_DEF@//" \
    "$headers/sodium/version.h.in" >"$headers/sodium/version.h"
  compile=("${CC:-cc}" -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -fwrapv -fstack-protector-strong -pthread
    -D_GNU_SOURCE=1 -DCONFIGURED=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_PTHREAD=1 -DHAVE_ATOMIC_OPS=1 -DHAVE_WEAK_SYMBOLS=1
    -DHAVE_TI_MODE=1 -DHAVE_CPUID=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_MMAP=1 -DHAVE_MLOCK=1 -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1
    -DHAVE_POSIX_MEMALIGN=1 -DHAVE_SYS_RANDOM_H=1 -DHAVE_GETRANDOM=1 -DHAVE_LINUX_COMPATIBLE_GETRANDOM=1 -DHAVE_GETPID=1
    -DHAVE_NANOSLEEP=1 -DHAVE_EXPLICIT_BZERO=1 "-I$headers" "-I$headers/sodium" -c)
  mkdir objects
  find src/libsodium -name '*.c' | while read -r source; do
    printf '%s -o objects/%s.o\n' "$source" "$(tr / _ <<<"$source")"
  done | xargs -P "$cores" -L 1 "${compile[@]}"
  "${CC:-cc}" -shared -pthread -Wl,-soname,libsodium.so.23 -o "$prefix/lib/libsodium.so.23" objects/*.o
  ln -sf libsodium.so.23 "$prefix/lib/libsodium.so"
  cp -r "$headers/sodium.h" "$headers/sodium" "$prefix/include/"
  pc_file libsodium sodium
}

unpack() {  # FILE; leaves the shell in the archive's directory
  case $1 in
    *.deb) ar x "$1" && tar -xf data.tar.* ;;
    *) tar -xf "$1" --strip-components=1 ;;
  esac
}

finish() {
  local code=$?
  cd /
  if [ "$code" = 0 ]; then rm -rf "$work"; else say "$name $version: ${reason:-the build failed}; see $log"; fi
}

line="$*"
[ "$(cat "$stamp" 2>/dev/null)" != "$line" ] || exit 0
mkdir -p "$prefix"/{bin,include,lib/pkgconfig,log,stamps}
rm -rf "$prefix/work/$name"  # left behind by a build that failed
work=$prefix/work/$name
mkdir -p "$work/tree"
exec 3>&2 >"$log" 2>&1
trap finish EXIT
say "building $name $version"
archive=$work/${path##*/}
download "$mirror/$path" "$archive" || fail "cannot fetch $mirror/$path"
printf '%s  %s\n' "$sha256" "$archive" | sha256sum -c - || fail "${path##*/} has not the SHA-256 of tools/deps.lock"
cd "$work/tree"
unpack "$archive"
set -x
"build_$how"
set +x
printf '%s\n' "$line" >"$stamp"
