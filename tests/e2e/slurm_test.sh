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

# In a job, `shoal launch` finds hosts and ranks by itself: one launcher on each node, which starts its ranks.
launch_job() {  # SBATCH-OPTIONS... -- WORDS...: its output is in $scratch/batch.out
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  printf '#!/bin/bash\nexec %q launch %s\n' "$shoal" "$*" >"$scratch/job.sh"
  timeout 120 sbatch --wait --output="$scratch/batch.out" "${options[@]}" "$scratch/job.sh" >"$scratch/submitted" 2>&1
}
launch_job --nodes=3 --ntasks-per-node=2 -- -- doctor || { cat "$scratch/batch.out" >&2; fail 'shoal launch in a job'; }
expect_proof "$scratch/batch.out" 6
expect_text "$scratch/batch.out" '^srun --nodes=3 --ntasks=3 --ntasks-per-node=1 .*/shoal launch --ranks 2 -- doctor$'
expect_text "$scratch/batch.out" '^  launcher +shoal launch'
expect_text "$scratch/batch.out" '^  nodes +3$'

# The program on each node's own disk: copied once, and run from there. The nodes of this test bed share a disk.
mkdir -p "$scratch/prefix/bin" "$scratch/prefix/lib/shoal"
cp "$shoal" "$scratch/prefix/bin/"
for start in first second; do
  # shellcheck disable=SC2016  # the shell of a rank expands it
  printf '#!/bin/bash\nexec %q launch --stage %q -- /bin/sh -c "readlink /proc/\\$PPID/exe"\n' "$scratch/prefix/bin/shoal" "$scratch/disk" >"$scratch/job.sh"
  timeout 120 sbatch --wait --nodes=2 --ntasks-per-node=2 --output="$scratch/$start.out" "$scratch/job.sh" >/dev/null || { cat "$scratch/$start.out" >&2; fail "the $start start from a copy"; }
  [ "$(grep -Ec "^$scratch/disk/shoal-[0-9a-f]{32}/bin/shoal\$" "$scratch/$start.out")" = 4 ] || { cat "$scratch/$start.out" >&2; fail 'not from the copy'; }
  [ "$(find "$scratch/disk" -mindepth 1 -maxdepth 1 | grep -Ec '/shoal-[0-9a-f]{32}$')" = "$(find "$scratch/disk" -mindepth 1 -maxdepth 1 | wc -l)" ] || { ls "$scratch/disk" >&2; fail 'something else is left beside the copy'; }
done

# Nobody said how many ranks, and there are no GPUs to count.
! launch_job --nodes=2 -- --dry-run -- doctor || fail 'ranks out of nothing'
expect_text "$scratch/batch.out" 'how many ranks should each host have\?.*give --ranks N'

# The first cause, with its host. srun's exit code is the highest, here that of those who only lost a peer.
cat >"$scratch/fails.sh" <<'FAILS'
#!/bin/bash
[ "$SHOAL_RANK" != 3 ] || exit 9
trap 'exit 75' TERM
while [ ! -e "$1" ]; do sleep 0.05; done
exit 75
FAILS
chmod +x "$scratch/fails.sh"
# shellcheck disable=SC2016  # the shell of a task expands it
expect_exit 75 timeout 120 srun --nodes=2 --ntasks-per-node=1 --overlap bash -c '"$0" launch --ranks 2 --grace 1 -- "$1" "$2.over"; code=$?; : >"$2.over"; exit $code' "$shoal" "$scratch/fails.sh" "$scratch/fails"
expect_text "$scratch/err" 'launch: rank 3 on n2 \(pid [0-9]+\) ended with exit code 9 after'
expect_text "$scratch/err" 'launch: rank [01] on n1 \(pid [0-9]+\) ended with exit code 75 after'
# Several launchers on a node would each start all its ranks.
expect_exit 2 timeout 120 srun --nodes=1 --ntasks=2 "$shoal" launch --ranks 2 -- doctor
expect_text "$scratch/err" 'slurm has started 2 launchers on this host'

# A batch script that starts shoal without srun is one process, whatever SLURM_NTASKS says.
cat >"$scratch/job.sh" <<JOB
#!/bin/bash
"$shoal" doctor --brief
JOB
expect_exit 0 timeout 120 sbatch --wait --nodes=2 --ntasks=4 --output="$scratch/batch.out" "$scratch/job.sh"
expect_text "$scratch/batch.out" '^  ranks +1$'
expect_text "$scratch/batch.out" '^  scheduler +slurm'
expect_text "$scratch/batch.out" 'srun --nodes=2'
