#!/bin/bash
# The executable as people meet it: help, errors, exit codes, the torch line, how fast it answers.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

expect_exit 0 "$shoal" --help
expect_text "$scratch/out" '^  doctor'
expect_text "$scratch/out" '75 please requeue'
expect_exit 0 "$shoal" --version
expect_exit 2 "$shoal"
expect_exit 2 "$shoal" docter
expect_text "$scratch/err" "no command 'docter'; did you mean 'doctor'"
expect_exit 2 "$shoal" doctor --breif
expect_text "$scratch/err" 'error: shoal doctor: .*--breif.*see shoal doctor --help'
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

# The torch line is a link line.
ldd "$shoal" >"$scratch/ldd"
refuse_text "$scratch/ldd" 'torch|c10|cuda|nccl|mpi|gloo'

# Alone, without its engine, it says what is missing.
cp "$shoal" "$scratch/shoal"
expect_exit 2 "$scratch/shoal" bench comm
expect_text "$scratch/err" 'needs the engine.*cmake --preset release'
expect_exit 0 "$scratch/shoal" doctor
expect_text "$scratch/out" 'built without torch'

# Answers at once: the median of 21 starts.
for command in --help 'doctor --brief'; do
  "$SHOAL_BINARY_DIR/paired" --a "$shoal $command" --b /bin/true >"$scratch/paired"
  milliseconds=$(sed -n 's/^paired.a_ms //p' "$scratch/paired")
  echo "shoal $command: $milliseconds ms"
  awk -v ms="$milliseconds" 'BEGIN { exit !(ms < 50) }' || fail "shoal $command takes $milliseconds ms, 50 are allowed"
done
