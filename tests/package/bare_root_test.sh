#!/bin/bash
# The tarball on a bare system: the first ten minutes of a user, from unpacking to the first sample, where there is a glibc,
# a shell and tar, and no libstdc++, no Python, no torch.
#
#   bare_root_test.sh TARBALL DIRECTORY [SUITE [DEBOOTSTRAP-OPTION...]] [-- TRAIN-OPTION...]
#
# SUITE of Debian or of a relative of it; bookworm without one. Needs root. Ends with lines NAME VALUE.
set -euo pipefail
tarball=$(realpath "$1") directory=$2
suite=${3:-bookworm}
shift $(($# < 3 ? $# : 3))
bootstrap=() train=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do bootstrap+=("$1"); shift; done
[ $# -eq 0 ] || train=("${@:2}")

mkdir -p "$directory"
root=$directory/$suite
for attempt in 1 2 3; do # mirrors fail now and then
  [ ! -e "$root/bootstrapped" ] || break
  rm -rf --one-file-system "$root"
  if debootstrap --variant=minbase "${bootstrap[@]}" "$suite" "$root" >"$directory/$suite.log"; then touch "$root/bootstrapped"; fi
  [ -e "$root/bootstrapped" ] || sleep $((attempt * 10))
done
[ -e "$root/bootstrapped" ] || { tail "$directory/$suite.log"; exit 1; }
find "$root" -name 'libstdc++*' -delete
mkdir -p "$root/proc"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"  # every system has one; shoal finds its own files by it
trap 'umount "$root/proc"' EXIT
rm -rf "$root/home/user" && mkdir -p "$root/home/user"
cp "$tarball" "$root/home/user/shoal.tar.gz"

cat >"$root/home/user/first_minutes.sh" <<'COMMANDS'
set -euo pipefail
tar xzf shoal.tar.gz
PATH=$(echo "$PWD"/shoal-*/bin):$PATH
shoal --version
shoal prepare --input examples/train_shakespeare/shakespeare.txt --tokenizer byte --output tokens --validation tail:0.1
shoal train configs/shakespeare.yaml "$@"
shoal generate runs/shakespeare --tokenizer byte --prompt "ROMEO:" --max-new-tokens 300 --slide | tee sample.txt
shoal launch --ranks 2 -- doctor | grep 'train like one'
COMMANDS
began=$SECONDS
chroot "$root" /usr/bin/env -i HOME=/home/user PATH=/usr/bin:/bin bash -c 'cd && bash first_minutes.sh "$@"' bash "${train[@]}"
printf '\npackage.system %s\npackage.glibc %s\npackage.seconds_to_sample %d\n' \
  "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$root/etc/os-release" | tr ' ' '_')" \
  "$(chroot "$root" ldd --version | sed -n '1s/.* //p')" $((SECONDS - began))
[ "$(wc -c <"$root/home/user/sample.txt")" -gt 300 ]
