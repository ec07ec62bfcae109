#!/bin/bash
# A real Slurm of three nodes: srun starts the ranks, they meet and prove that they train like one.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
[ "$(id -u)" = 0 ] || skip 'the Slurm test bed needs root'
command -v slurmctld >/dev/null || skip 'needs slurm-wlm (tools/deps.sh check)'
export OMP_NUM_THREADS=1 HOME=$scratch SLURM_TESTBED=$scratch/slurm

trap '"$testbed/slurm" down; rm -rf "$scratch"' EXIT
SLURM_CONF=$("$testbed/slurm" up 3)
export SLURM_CONF

expect_exit 0 timeout 120 srun --nodes=3 --ntasks-per-node=1 "$shoal" doctor
expect_proof "$scratch/out" 3
expect_text "$scratch/out" '^  launcher +slurm'
expect_text "$scratch/out" '^  nodes +3$'
expect_text "$scratch/out" '^  hosts +n1, n2, n3$'

# Uneven: 5 tasks on 3 nodes.
expect_exit 0 timeout 120 srun --nodes=3 --ntasks=5 "$shoal" doctor
expect_proof "$scratch/out" 5

# Two jobs at once do not meet each other.
timeout 120 srun --nodes=2 --ntasks=2 --overlap "$shoal" doctor >"$scratch/first" 2>&1 &
first=$!
expect_exit 0 timeout 120 srun --nodes=2 --ntasks=2 --overlap "$shoal" doctor
wait "$first" || { cat "$scratch/first" >&2; fail 'the first of two jobs'; }
expect_proof "$scratch/out" 2
expect_proof "$scratch/first" 2

# A batch script that starts shoal without srun is one process, whatever SLURM_NTASKS says.
cat >"$scratch/job.sh" <<JOB
#!/bin/bash
"$shoal" doctor --brief
JOB
expect_exit 0 timeout 120 sbatch --wait --nodes=2 --ntasks=4 --output="$scratch/batch.out" "$scratch/job.sh"
expect_text "$scratch/batch.out" '^  ranks +1$'
expect_text "$scratch/batch.out" '^  scheduler +slurm'
expect_text "$scratch/batch.out" 'srun --nodes=2'
