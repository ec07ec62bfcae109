#!/bin/bash
# Both scripts on a real Slurm, without GPUs and with a model of seconds: one node undisturbed; then two nodes whose ranks are told three
# times that their time is up. The job is queued again each time and goes on: both runs have the same losses and weights, to the bit.
#
#   test.sh                 signals sent by scancel
#   test.sh --time-limit    signals sent by Slurm because the job's two minutes are nearly over; a quarter of an hour
# shellcheck source=tests/e2e/expect.sh
. "${SHOAL_SOURCE_DIR:?set by ctest}/tests/e2e/expect.sh"
[ "$(id -u)" = 0 ] || skip 'the Slurm test bed needs root'
command -v slurmctld >/dev/null || skip 'needs slurm-wlm (tools/deps.sh check)'
export OMP_NUM_THREADS=1 HOME=$scratch SLURM_TESTBED=$scratch/slurm
export SHOAL=$shoal CONFIG=$SHOAL_SOURCE_DIR/configs/reference_gpt.yaml
trap '"$testbed/slurm" down; rm -rf "$scratch"' EXIT
SLURM_CONF=$("$testbed/slurm" up 2)
export SLURM_CONF
cd "$scratch"

limited=false
steps=120
patience=60
if [ "${1:-}" = --time-limit ]; then
  limited=true
  steps=5000
  patience=1200
fi

# wait_until WHAT COMMAND...: until it succeeds; Slurm has no event for what is waited for here.
wait_until() {
  local what=$1
  shift
  for _ in $(seq $((patience * 10))); do
    ! "$@" || return 0
    sleep 0.1
  done
  cat reference_gpt-*.log >&2 || true
  scontrol show job "$job" >&2 || true
  fail "not in $patience seconds: $what"
}

job_says() { scontrol show job "$job" | grep -Eq -- "$1"; }

# Slurm lets two minutes pass before it starts a job again, unless it is told to do it now.
starts_again() {
  ! job_says 'JobState=PENDING' || scontrol update JobId="$job" StartTime=now
  job_says 'JobState=(RUNNING|COMPLETED)'
}

# The lines of a file that a run may just be about to make.
has_steps() { [ "$(wc -l 2>/dev/null <"runs/$1/metrics.jsonl" || echo 0)" -ge "$2" ]; }

submit() {  # SCRIPT NAME SBATCH-OPTIONS...
  # Without GPUs; four ranks in all.
  sed '/--gpus-per-node/d' "$SHOAL_SOURCE_DIR/examples/slurm/$1" >"$1"
  job=$(sbatch --parsable --cpus-per-task=1 "${@:3}" "$1" --set run.name="$2" --set model.layers=2 --set model.heads=2 --set model.width=32 \
    --set model.context=32 --set model.vocab_size=257 --set train.precision=fp32 --set train.threads=1 --set train.eval_every=0 \
    --set train.save_every=1000 --set train.steps=$steps)
}

completes() {  # NAME
  wait_until 'ended' job_says 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT)'
  job_says 'JobState=COMPLETED' || { cat reference_gpt-"$job".log >&2; fail 'the job has failed'; }
  has_steps "$1" $steps || fail 'steps are missing'
  expect_text reference_gpt-"$job".log "^ *$steps/$steps "
}

expect_exit 0 "$shoal" prepare --input "$SHOAL_SOURCE_DIR/examples/train_shakespeare/shakespeare.txt" --tokenizer byte --output tokens
submit one_node.sbatch undisturbed
completes undisturbed

options=(--ntasks-per-node=2)
# Slurm looks at its clocks twice a minute, and sends the signal up to a minute early.
if $limited; then options+=(--time=2 --signal=TERM@30); fi
submit several_nodes.sbatch disturbed "${options[@]}"
for part in 1 2 3; do
  if ! $limited; then
    wait_until 'steps' has_steps disturbed $((part * 20))
    scancel --signal=TERM "$job"  # as --signal does; to the launchers and ranks, not to the script
  fi
  wait_until 'queued again' job_says "Restarts=$part"
  ! has_steps disturbed $steps || fail 'the run had ended before it was stopped'
  wait_until 'started again' starts_again
done
completes disturbed
[ "$(grep -c 'stopped by signal' reference_gpt-"$job".log)" = 3 ] || { cat reference_gpt-"$job".log >&2; fail 'it was not stopped three times'; }
expect_text reference_gpt-"$job".log 'srun --nodes=2 --ntasks=2 --ntasks-per-node=1 .* launch --ranks 2 --max-restarts 100 -- train '

# One curve, each step once, and the same bits as undisturbed.
curve() { jq -c '[.step, .loss, .grad_norm, .lr, .tokens]' "runs/$1/metrics.jsonl"; }
curve undisturbed >undisturbed.curve
curve disturbed >disturbed.curve
[ "$(wc -l <disturbed.curve)" = $steps ] || fail 'steps are there twice, or not at all'
cmp undisturbed.curve disturbed.curve || fail 'the losses differ from an undisturbed run'
"$shoal" checkpoint diff runs/undisturbed runs/disturbed >differences || true
expect_text differences 'tensors that differ 0;'
echo "three requeues, $steps steps, same bits"
jq -r 'select(.tag == "restart") | .text' runs/disturbed/texts.jsonl
