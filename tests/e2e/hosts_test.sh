#!/bin/bash
# Two hosts with shaped links between them: ranks meet, all-reduce, and prove that they train like one.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
command -v ip >/dev/null || skip 'needs iproute2'
export OMP_NUM_THREADS=1 HOME=$scratch

"$testbed/hosts" down 2
"$testbed/hosts" up 2 1gbit || skip 'this kernel gives no network namespaces with shaped links'
trap '"$testbed/hosts" down 2; rm -rf "$scratch"' EXIT

launch() {  # HOST COMMAND...
  "$testbed/hosts" run $(($1 + 1)) "$shoal" launch --ranks 2 --hosts 2 --host "$1" --address 10.77.0.1 -- "${@:2}"
}

launch 1 doctor >"$scratch/host1" 2>&1 &
other=$!
launch 0 doctor >"$scratch/host0" 2>&1 || { cat "$scratch/host0" "$scratch/host1" >&2; fail 'host 0'; }
wait "$other" || { cat "$scratch/host1" >&2; fail 'host 1'; }
expect_proof "$scratch/host0" 4
expect_text "$scratch/host0" '^  nodes +2$'
expect_text "$scratch/host0" '^  store +10\.77\.0\.1:'

# Collectives between the hosts cross the link, and not the memory of this machine.
crossed() { ip -n shoal-switch -j -s link show port2 | jq '.[0].stats64.tx.bytes'; }
before=$(crossed)
launch 1 bench comm --op broadcast --size '8 MiB' >/dev/null 2>&1 &
other=$!
launch 0 bench comm --op broadcast --size '8 MiB' >"$scratch/bench" 2>&1 || { cat "$scratch/bench" >&2; fail 'bench'; }
wait "$other"
grep '^broadcast' "$scratch/bench"
crossed=$(($(crossed) - before))
echo "$crossed bytes crossed the link to host 1"
[ "$crossed" -gt $((8 << 20)) ] || fail 'a broadcast of 8 MiB did not cross the link'

# Data through another address than the one the launcher knows: the store stays where the others look for it.
for host in 1 2; do "$testbed/hosts" run $host ip addr add 10.78.0.$host/24 dev "$("$testbed/hosts" run $host ip -br addr | awk '/10\.77\./ { sub(/@.*/, "", $1); print $1 }')"; done
launch 1 doctor --set comm.interface=10.78.0.2 >"$scratch/host1" 2>&1 &
other=$!
launch 0 doctor --set comm.interface=10.78.0.1 >"$scratch/host0" 2>&1 || { cat "$scratch/host0" "$scratch/host1" >&2; fail 'host 0 with an interface of its own'; }
wait "$other" || { cat "$scratch/host1" >&2; fail 'host 1 with an interface of its own'; }
expect_proof "$scratch/host0" 4
expect_text "$scratch/host0" '^  store +10\.77\.0\.1:'

# A host that does not come is named.
expect_exit 75 "$testbed/hosts" run 1 env SHOAL_RANK=0 SHOAL_WORLD_SIZE=2 SHOAL_LOCAL_RANK=0 SHOAL_LOCAL_SIZE=1 SHOAL_NODE=0 \
  SHOAL_NUM_NODES=2 SHOAL_JOB=missing SHOAL_STORE=10.77.0.1 "$shoal" doctor --set comm.rendezvous=2s
expect_text "$scratch/err" "rank 1 of 2 did not arrive at rank 0's store at 10\.77\.0\.1:"

# A host whose packets are dropped from one moment on, as if it had no power: the others miss it long before the deadline of a call,
# and so does it miss them.
"$shoal" prepare --input "$SHOAL_SOURCE_DIR/examples/train_shakespeare/shakespeare.txt" --tokenizer byte --output "$scratch/tokens" >/dev/null 2>&1
train() {  # HOST
  launch "$1" train --set "data.sources=[$scratch/tokens]" --set "run.directory=$scratch/runs" --set run.name=cut --set comm.deadline=60s \
    --set train.steps=1000000 --set train.eval_every=0 --set train.threads=1 --set model.layers=2 --set model.width=24 --set model.heads=3 \
    --set model.context=31 --set train.batch=8
}
train 1 >/dev/null 2>"$scratch/host1" &
other=$!
train 0 >/dev/null 2>"$scratch/host0" &
first=$!
until [ -f "$scratch/runs/cut/metrics.csv" ] && [ "$(wc -l <"$scratch/runs/cut/metrics.csv")" -gt 3 ]; do
  kill -0 $first $other || { cat "$scratch/host0" "$scratch/host1" >&2; fail 'the job ended before its host was cut off'; }
  sleep 0.05
done
ip -n shoal-switch link set port2 nomaster  # its link stays up, and nothing comes or goes through it
from=$SECONDS
wait $first && fail 'host 0 ended well'
wait $other && fail 'host 1 ended well'
echo "a host that was cut off ended the job after $((SECONDS - from)) s, with a deadline of 60 s"
[ -z "${SHOAL_NIGHTLY:-}" ] || [ $((2 * (SECONDS - from))) -lt 60 ] || { cat "$scratch/host0" "$scratch/host1" >&2; fail 'it took longer than half of the deadline'; }
expect_text "$scratch/host0" 'rank [23] does not answer for [0-9.]+s, last heard of on'
expect_text "$scratch/host1" 'store'
