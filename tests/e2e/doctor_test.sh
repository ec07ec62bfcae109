#!/bin/bash
# The doctor's proof on one host, through every way of starting ranks that works on one host.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
export OMP_NUM_THREADS=1

expect_exit 0 "$shoal" doctor
expect_text "$scratch/out" '^  libtorch +2\.15'
refuse_text "$scratch/out" 'proof'

expect_exit 0 "$shoal" launch --ranks 3 -- doctor
expect_proof "$scratch/out" 3
expect_text "$scratch/out" '^  backend +gloo'
expect_text "$scratch/out" '^  store +127\.0\.0\.1:'

expect_exit 0 "$shoal" launch --ranks 4 -- doctor --set parallel.tp=2 --set parallel.pp=2 --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["proof"]["verdict"] is True, report
assert report["engine"]["gloo"] == {"usable": True, "about": "TCP between CPUs"}, report
assert report["proof"]["max difference"] < 1e-12, report
assert report["proof"]["mesh"].startswith("pp 2 x dp_replicate 1 x dp_shard 1 x cp 1 x tp 2"), report
PYTHON

# A config that does not fit the ranks is refused before anybody connects.
expect_exit 2 "$shoal" launch --ranks 3 -- doctor --set parallel.tp=2
expect_text "$scratch/err" 'parallel'
[ "$(grep -c '^error' "$scratch/err")" = 1 ] || fail 'every rank reports what rank 0 has reported'
expect_exit 2 "$shoal" launch --ranks 2 -- doctor --set comm.backend=nccl
expect_text "$scratch/err" 'no NCCL'
expect_exit 2 "$shoal" launch --ranks 2 -- doctor --set comm.interface=ib7
expect_text "$scratch/err" "comm.interface is 'ib7'"

# torchrun-style variables, set by hand.
port=$((20000 + $$ % 10000))  # of this process, below those that the kernel gives away
for rank in 1 0; do
  env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port HOME="$scratch" \
    "$shoal" doctor >"$scratch/torchrun.$rank" 2>&1 &
done
wait
expect_proof "$scratch/torchrun.0" 2
expect_text "$scratch/torchrun.0" '^  launcher +torchrun'
expect_text "$scratch/torchrun.0" "^  store +127\.0\.0\.1:$port"

if grep -Eq '^  mpi +yes' "$scratch/torchrun.0"; then
  mpi=(mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 -n 3)
  expect_exit 0 "${mpi[@]}" "$shoal" doctor
  expect_proof "$scratch/out" 3
  expect_text "$scratch/out" '^  backend +mpi'
  expect_exit 0 env HOME="$scratch" "${mpi[@]}" "$shoal" doctor --set comm.backend=gloo
  expect_proof "$scratch/out" 3
  expect_text "$scratch/out" '^  launcher +openmpi'
  expect_text "$scratch/out" '^  backend +gloo'
else
  echo 'this build has no MPI: mpirun not tried'
fi
