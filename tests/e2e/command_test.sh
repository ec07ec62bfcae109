#!/bin/bash
# The executable as people meet it: help, errors, exit codes, the torch line, how fast it answers.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

expect_exit 0 "$shoal" --help
expect_text "$scratch/out" '^  doctor'
expect_text "$scratch/out" '75 please requeue'
expect_exit 0 "$shoal" --version
expect_text "$scratch/out" '^shoal [0-9.]*, commit [0-9a-f]*'
# Files that come with shoal are found from everywhere, but nothing outside of them.
(cd "$scratch" && expect_exit 0 "$shoal" config check configs/shakespeare.yaml)
(cd "$scratch" && expect_exit 2 "$shoal" config check configs/../configs/shakespeare.yaml)
expect_exit 2 "$shoal"
expect_exit 2 "$shoal" docter
expect_text "$scratch/err" "no command 'docter'; did you mean 'doctor'"
expect_exit 2 "$shoal" doctor --breif
expect_text "$scratch/err" "error: shoal doctor has no option '--breif'; did you mean '--brief'. .see shoal doctor --help"
expect_exit 0 "$shoal" doctor --help
expect_text "$scratch/out" '--brief'

expect_exit 0 "$shoal" doctor --brief
expect_text "$scratch/out" 'launch command'
expect_exit 0 "$shoal" doctor --brief --json
/usr/bin/python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["job"]["ranks"] == 1' "$scratch/out"

expect_exit 2 env RANK=9 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 "$shoal" doctor --brief
expect_text "$scratch/err" 'rank 9 of 4'
expect_exit 2 "$shoal" config check /no/such/file.yaml
expect_text "$scratch/err" '/no/such/file.yaml'

# The example says that every key is in it.
keys() { sed -nE 's/^( *)([a-z_]+):.*/\1\2/p' "$1"; }
expect_exit 0 "$shoal" config check "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml"
diff <(keys "$scratch/out") <(keys "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml") || fail 'configs/debug_cpu.yaml lacks a key'

expect_exit 2 "$shoal" config chek "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml"
expect_text "$scratch/err" "no subcommand 'chek'; did you mean 'check'"
expect_exit 2 "$shoal" config check "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml" --ranks two
expect_text "$scratch/err" "'two' is not a whole number from 1 to .*see shoal config check --help"

# What cannot be written is an error, not a success: a full disk, a closed descriptor. A reader that has enough is neither.
for command in --help --version 'config docs' 'doctor --brief'; do
  code=0
  # shellcheck disable=SC2086
  "$shoal" $command >/dev/full 2>"$scratch/err" || code=$?
  [ "$code" = 3 ] || fail "shoal $command to a full disk: exit code $code instead of 3"
  expect_text "$scratch/err" 'cannot write to standard output: No space left'
done
code=0; "$shoal" --help >&- 2>"$scratch/err" || code=$?
[ "$code" = 3 ] || fail "exit code $code instead of 3 with a closed standard output"

# Half a launcher is refused: each rank would otherwise run alone and call it done.
expect_exit 2 env RANK=0 WORLD_SIZE=2 "$shoal" doctor --brief
expect_text "$scratch/err" 'RANK and WORLD_SIZE are set, but MASTER_ADDR is not'
expect_exit 2 env RANK=1 WORLD_SIZE=2 MASTER_ADDR=10.9.9.9 "$shoal" doctor --brief
expect_text "$scratch/err" 'LOCAL_WORLD_SIZE is not set'

# The torch line is a link line. Names only: an address may well contain c10.
ldd "$shoal" | awk '{ print $1 }' >"$scratch/ldd"
refuse_text "$scratch/ldd" 'torch|c10|cuda|nccl|mpi|gloo'

# Alone, without its engine, it says what is missing.
cp "$shoal" "$scratch/shoal"
expect_exit 2 "$scratch/shoal" bench comm
expect_text "$scratch/err" 'needs the engine.*cmake --preset release'
expect_exit 0 "$scratch/shoal" doctor
expect_text "$scratch/out" 'built without torch'

# Starts at once: neither reads nor maps much. Page faults count both, and do not depend on what else the machine does.
for command in --help 'doctor --brief'; do
  /usr/bin/python3 - "$shoal" "$command" <<'PYTHON' || fail "shoal $command does more than it should before it answers"
import resource, subprocess, sys
MOST = 3000
before = resource.getrusage(resource.RUSAGE_CHILDREN)
subprocess.run([sys.argv[1], *sys.argv[2].split()], stdout=subprocess.DEVNULL, check=True)
after = resource.getrusage(resource.RUSAGE_CHILDREN)
faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
print(f"shoal {sys.argv[2]}: {faults} page faults, {MOST} are allowed")
sys.exit(faults > MOST)
PYTHON
done

# In the nightly run, beside a program that does nothing.
if [ -n "${SHOAL_NIGHTLY:-}" ]; then
  for command in --help 'doctor --brief'; do
    "$SHOAL_BINARY_DIR/paired" --a "$shoal $command" --b /bin/true >"$scratch/paired"
    ratio=$(sed -n 's/^paired.ratio //p' "$scratch/paired")
    echo "shoal $command: $ratio times as long as /bin/true"
    awk -v ratio="$ratio" 'BEGIN { exit !(ratio < 40) }' || fail "shoal $command takes $ratio times as long as /bin/true, 40 are allowed"
  done
fi
