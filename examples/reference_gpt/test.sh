#!/bin/bash
# job.sbatch on a real Slurm, without GPUs and with a model of seconds: the ranks are told that their time is up, the job is queued again
# and goes on.
# shellcheck source=tests/e2e/expect.sh
. "${SHOAL_SOURCE_DIR:?set by ctest}/tests/e2e/expect.sh"
[ "$(id -u)" = 0 ] || skip 'the Slurm test bed needs root'
command -v slurmctld >/dev/null || skip 'needs slurm-wlm (tools/deps.sh check)'
export OMP_NUM_THREADS=1 HOME=$scratch SLURM_TESTBED=$scratch/slurm
export SHOAL=$shoal CONFIG=$SHOAL_SOURCE_DIR/configs/reference_gpt.yaml
trap '"$testbed/slurm" down; rm -rf "$scratch"' EXIT
SLURM_CONF=$("$testbed/slurm" up 1)
export SLURM_CONF
cd "$scratch"

# wait_until WHAT COMMAND...: until it succeeds; Slurm has no event for what is waited for here.
wait_until() {
  local what=$1
  shift
  for _ in $(seq 600); do
    ! "$@" || return 0
    sleep 0.1
  done
  cat reference_gpt-*.log >&2 || true
  scontrol show job "$job" >&2 || true
  fail "not in a minute: $what"
}

job_says() { scontrol show job "$job" | grep -Eq -- "$1"; }

# Slurm lets two minutes pass before it starts a job again, unless it is told to do it now.
starts_again() {
  ! job_says 'JobState=PENDING' || scontrol update JobId="$job" StartTime=now
  job_says 'JobState=(RUNNING|COMPLETED)'
}

# The lines of a file that a run may just be about to make.
has_steps() { [ "$(wc -l 2>/dev/null <runs/reference_gpt/metrics.jsonl || echo 0)" -ge "$1" ]; }

expect_exit 0 "$shoal" prepare --input "$SHOAL_SOURCE_DIR/examples/train_shakespeare/shakespeare.txt" --tokenizer byte --output tokens
sed '/--gpus-per-node/d' "$SHOAL_SOURCE_DIR/examples/reference_gpt/job.sbatch" >job.sbatch
steps=150
job=$(sbatch --parsable --cpus-per-task=1 job.sbatch --set model.layers=2 --set model.heads=2 --set model.width=32 --set model.context=32 \
  --set model.vocab_size=257 --set train.precision=fp32 --set train.threads=1 --set train.eval_every=0 --set train.steps=$steps)
wait_until 'ten steps' has_steps 10
scancel --signal=TERM "$job"  # as --signal does; to the ranks, not to the script
wait_until 'queued again' job_says 'Restarts=1'
! has_steps $steps || fail 'the run had ended before it was stopped'
expect_text reference_gpt-"$job".log 'is saved'
wait_until 'started again' starts_again
wait_until 'ended' job_says 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT)'
job_says 'JobState=COMPLETED' || { cat reference_gpt-"$job".log >&2; fail 'the job has failed'; }
has_steps $steps || fail 'steps are missing'
expect_text reference_gpt-"$job".log "^ *$steps/$steps "
