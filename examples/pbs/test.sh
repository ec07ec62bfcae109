#!/bin/bash
# several_nodes.pbs as PBS would start it, on this host alone: its time is up, it saves and submits itself again, and then goes on.
# shellcheck source=tests/e2e/expect.sh
. "${SHOAL_SOURCE_DIR:?set by ctest}/tests/e2e/expect.sh"
command -v mpiexec >/dev/null || skip 'needs openmpi-bin (tools/deps.sh engine)'
cd "$scratch"
expect_exit 0 "$shoal" prepare --input "$SHOAL_SOURCE_DIR/examples/train_shakespeare/shakespeare.txt" --tokenizer byte --output tokens
mkdir bin
# Like that of OpenPBS, it refuses to pass on a variable that is not there.
cat >bin/qsub <<'QSUB'
#!/bin/bash
[ "$1" = -v ] || exit 1
for name in ${2//,/ }; do [ -n "${!name+there}" ] || { echo "qsub: cannot send environment with the job" >&2; exit 1; }; done
echo "$*; PART $PART" >submitted
QSUB
printf '#!/bin/bash\nexit 75\n' >bin/lost_a_peer
chmod +x bin/qsub bin/lost_a_peer
hostname >nodes
hostname >>nodes
small() { sed "s/^  steps: 200/  steps: $1/; s/eval_every: 100/eval_every: 0/; s/threads: auto/threads: 1/; s/save_every: 100/save_every: 100000/" "$SHOAL_SOURCE_DIR/configs/debug_cpu.yaml" >small.yaml; }
export PATH=$scratch/bin:$PATH HOME=$scratch OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PBS_NODEFILE=$scratch/nodes PBS_JOBID=7.pbs PBS_O_WORKDIR=$scratch SHOAL=$shoal CONFIG=$scratch/small.yaml
script=$SHOAL_SOURCE_DIR/examples/pbs/several_nodes.pbs
SHOAL=$scratch/bin/lost_a_peer expect_exit 75 env -u CONFIG SCRIPT='a script.pbs' bash "$script"
expect_text submitted '^-v PART,SHOAL,SCRIPT a script.pbs; PART 2$'
rm submitted
SHOAL=$scratch/bin/lost_a_peer PART=99 expect_exit 75 bash "$script"
expect_text submitted '; PART 100$'
rm submitted
SHOAL=$scratch/bin/lost_a_peer PART=100 expect_exit 75 bash "$script"
[ ! -e submitted ] || fail 'it is submitted without end'
small 1000000
SECONDS_TO_RUN=4 expect_exit 124 bash "$script"
expect_text err '^mpiexec -n 1 --map-by ppr:1:node --bind-to none .* launch --ranks 2 --max-restarts 100 -- train '
expect_text err 'launch: passed SIGUSR1 on; rank [01] .* ended with exit code 75'
expect_text submitted '^-v PART,SHOAL,CONFIG,SECONDS_TO_RUN examples/pbs/several_nodes.pbs; PART 2$'
saved=$(find runs/debug_cpu/checkpoints -name 'step-*' -printf '%f\n' | sort | tail -1)
saved=$((10#${saved#step-}))
[ "$saved" -gt 0 ] || fail 'nothing was saved'
small $((saved + 5))
expect_exit 0 bash "$script"
[ "$(tail -1 runs/debug_cpu/metrics.jsonl | jq .step)" = $((saved + 5)) ] || fail 'it did not go on to its end'
