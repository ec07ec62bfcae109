#!/bin/bash
# several_nodes.pbs as PBS would start it, on this host alone: its time is up, it saves and submits itself again, and then goes on.
# shellcheck source=tests/e2e/expect.sh
. "${SHOAL_SOURCE_DIR:?set by ctest}/tests/e2e/expect.sh"
command -v mpiexec >/dev/null || skip 'needs openmpi-bin (tools/deps.sh engine)'
cd "$scratch"
expect_exit 0 "$shoal" prepare --input "$SHOAL_SOURCE_DIR/examples/train_shakespeare/shakespeare.txt" --tokenizer byte --output tokens
mkdir bin
printf '#!/bin/bash\necho "$*" >submitted\n' >bin/qsub
chmod +x bin/qsub
hostname >nodes
hostname >>nodes
small() { sed "s/^  steps: 200/  steps: $1/; s/eval_every: 100/eval_every: 0/; s/threads: auto/threads: 1/" "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml" >small.yaml; }
export PATH=$scratch/bin:$PATH HOME=$scratch OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_odls_base_sigkill_timeout=3 PBS_NODEFILE=$scratch/nodes PBS_JOBID=7.pbs PBS_O_WORKDIR=$scratch SHOAL=$shoal CONFIG=$scratch/small.yaml
small 1000000
SECONDS_TO_RUN=4 expect_exit 124 bash "$SHOAL_SOURCE_DIR/examples/pbs/several_nodes.pbs"
expect_text err '^mpiexec -n 1 --map-by ppr:1:node --bind-to none .* launch --ranks 2 --max-restarts 100 -- train '
expect_text err 'launch: passed SIGTERM on; rank [01] .* ended with exit code 75'
expect_text submitted 'examples/pbs/several_nodes.pbs$'
saved=$(find runs/debug_cpu/checkpoints -name 'step-*' -printf '%f\n' | sort | tail -1)
saved=$((10#${saved#step-}))
[ "$saved" -gt 0 ] || fail 'nothing was saved'
small $((saved + 5))
expect_exit 0 bash "$SHOAL_SOURCE_DIR/examples/pbs/several_nodes.pbs"
[ "$(tail -1 runs/debug_cpu/metrics.jsonl | jq .step)" = $((saved + 5)) ] || fail 'it did not go on to its end'
