#!/bin/bash
# shellcheck disable=SC2317  # trial() calls the functions below
# The first hour on real GPUs, made boring: one file to send to somebody with 1 to 8 GPUs.
#
#   tools/gpu_acceptance.sh --shoal build/cuda --gpus 4                # about 20 minutes
#   tools/gpu_acceptance.sh --shoal build/cuda --gpus 4 --brief -- softcuda --devices 4 --races abort --   # on fake GPUs
#
# It writes one report (gpu_acceptance.txt without --report), which can be sent back: what was run, what was expected, what
# was seen, and in words what differs. Words behind -- are put before every command of shoal. Nothing is installed, and nothing
# is left behind but the report. Exit codes: 0 when all is as expected, 1 when something differs, 2 for wrong words.
set -u


usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
shoal_directory='' gpus=1 report=gpu_acceptance.txt brief='' before=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --shoal) shoal_directory=$2; shift 2 ;;
    --gpus) gpus=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    --brief) brief=yes; shift ;;
    --help) usage; exit 0 ;;
    --) shift; before=("$@"); break ;;
    *) echo "gpu_acceptance: what is $1?" >&2; usage >&2; exit 2 ;;
  esac
done
shoal=$(readlink -f "${shoal_directory:-.}/shoal")
[[ -x $shoal && $gpus =~ ^[1-8]$ ]] || { echo "gpu_acceptance: --shoal DIR with the executable, and --gpus from 1 to 8" >&2; exit 2; }
report=$(readlink -f "$report")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
differs=()

say() { printf '%s\n' "$*" | tee -a "$report"; }
run() { "${before[@]}" "$shoal" "$@"; }
launched() { local ranks=$1; shift; if ((ranks > 1)); then run launch --ranks "$ranks" -- "$@"; else run "$@"; fi; }

# trial NAME EXPECTED COMMAND...: the command ends with exit code 0, and its output, in $scratch/out, is kept when it does not.
trial() {
  local name=$1 expected=$2 began=$SECONDS code
  shift 2
  "$@" >out 2>err
  code=$?
  if [[ $code -eq 0 ]]; then
    say "  as expected   $name ($((SECONDS - began)) s): $expected"
    return 0
  fi
  say "  DIFFERS       $name ($((SECONDS - began)) s): expected $expected, but the exit code is $code:"
  { grep -hE 'error|bug|softcuda:|launch:|FAILED|differs' err out || tail -n 3 err; } | head -n 4 | cut -c1-400 | sed 's/^/                  /' | tee -a "$report"
  differs+=("$name: expected $expected")
  return 1
}

# ---- what is tried ----

proof() { launched "$gpus" doctor && { ((gpus == 1)) || grep -q 'these ranks train like one' out; }; }

same_losses() {  # NAME RANKS PRECISION ALLOWED SETS...: a training has the losses of one CPU process
  local name=$1 ranks=$2 precision=$3 allowed=$4 sets=() all=()
  shift 4
  for word in "$@"; do all+=(--set "$word"); [[ $word == parallel.* ]] || sets+=(--set "$word"); done
  "$shoal" train small.yaml --set train.device=cpu --set "train.precision=$precision" --set "run.name=cpu-$name" "${sets[@]}" >cpu.out 2>&1 || { cat cpu.out >&2; return 1; }
  launched "$ranks" train small.yaml --set train.device=cuda --set "train.precision=$precision" --set "run.name=$name" "${all[@]}" || return 1
  paste -d, <(cut -d, -f1,3 "runs/cpu-$name/metrics.csv") <(cut -d, -f1,3 "runs/$name/metrics.csv") | awk -F, -v allowed="$allowed" '
    NR > 1 { steps++; d = ($2 - $4) / $2; if (d < 0) d = -d; if (d > worst) worst = d; if ($1 != $3) broken = 1 }
    END { printf "worst %g of %d steps\n", worst, steps
          if (broken || steps < 1 || !(worst <= allowed)) { printf "FAILED: a loss differs by %g of it, allowed are %g\n", worst, allowed; exit 1 } }'
}

resumed() {  # a run is killed and goes on with another layout
  local steps=(--set train.steps=30 --set train.save_every=5 --set train.init_from=resume)
  "$shoal" train small.yaml --set train.device=cpu "${steps[@]}" --set run.name=whole >cpu.out 2>&1 || return 1
  launched "$gpus" train small.yaml "${steps[@]}" --set run.name=moved --set "parallel.dp_shard=$gpus" >first.out 2>&1 &
  local job=$!
  for _ in $(seq 600); do
    [[ -e runs/moved/checkpoints/step-10 ]] && break
    kill -0 "$job" 2>/dev/null || break
    sleep 0.1
  done
  pkill -KILL -P "$job" 2>/dev/null
  kill -KILL "$job" 2>/dev/null
  wait "$job" 2>/dev/null
  run train small.yaml "${steps[@]}" --set run.name=moved --set run.take_over=true || return 1
  awk -F, 'FNR == 1 { file++; next } file == 1 { loss[$1] = $3 } file == 2 { n++; d = (loss[$1] - $3) / $3; if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "worst %g of %d steps\n", worst, n; if (n != 30 || !(worst <= 1e-4)) { print "FAILED: a resumed run has other losses"; exit 1 } }' \
    runs/whole/metrics.csv runs/moved/metrics.csv
}

watched() {  # compute-sanitizer, where it is
  compute-sanitizer --tool "$1" --error-exitcode 9 --target-processes all "$shoal" train small.yaml --set train.steps=3 --set "run.name=sanitized-$1"
}

throughput() {  # RANKS: tokens per second of GPT-2 124M in bf16
  launched "$1" train --set "run.name=speed$1" --set run.directory=runs --set 'data.sources=[tokens]' --set model.vocab_size=50304 --set model.layers=12 --set model.width=768 \
    --set model.heads=12 --set model.context=1024 --set "train.batch=$((16 * $1))" --set train.micro_batch=16 --set train.precision=bf16 --set train.steps=40 --set train.eval_every=0 \
    --set "parallel.dp_shard=$1" || return 1
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { tokens = $at["tokens_per_second"]; mfu = $at["mfu"]; memory = $at["memory_bytes"] }
    END { printf "%.0f tokens/s, mfu %s, %.2f GiB\n", tokens, mfu, memory / 2 ^ 30 }' "runs/speed$1/metrics.csv"
}

# ---- the report ----

: >"$report"
say "shoal on $gpus GPUs: acceptance report of $(date -u +%Y-%m-%dT%H:%MZ)"
run doctor 2>&1 | tee -a "$report" | grep -E '^  (device|nccl|libtorch)' || true
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee -a "$report"

cat >small.yaml <<'YAML'
run: {directory: runs}
data: {sources: [tokens]}
model: {layers: 3, width: 96, heads: 6, context: 61}
train: {batch: 11, steps: 8, eval_every: 0, log_every: 4}
comm: {deadline: 60s}
YAML
for i in $(seq 1500); do printf 'a shoal of %d fish swims in deep water %d\n\n' "$i" $((i * 7 % 13)); done >text.txt
"$shoal" prepare --input text.txt --separator '\n\n' --tokenizer byte --output tokens >out 2>err || { cat err >&2; exit 2; }

say ''
say 'Ranks and layouts'
trial 'proof' 'ranks that train like one' proof
trial 'one GPU, fp32' "the CPU's losses within 1e-5" same_losses one 1 fp32 1e-5
trial 'one GPU, bf16' "the CPU's losses within 2^-8" same_losses half 1 bf16 0.0039
if ((gpus > 1)); then
  trial 'full_shard' "the CPU's losses" same_losses shards "$gpus" fp32 1e-5 "parallel.dp_shard=$gpus"
  trial 'tensor' "the CPU's losses" same_losses tensor 2 fp32 1e-5 parallel.tp=2
  trial 'pipeline' "the CPU's losses" same_losses pipeline 2 fp32 1e-5 parallel.pp=2 train.micro_batch=2
fi
((gpus >= 4)) && trial 'pipeline of tensors' "the CPU's losses" same_losses both 4 bf16 0.0039 parallel.pp=2 parallel.tp=2 train.micro_batch=2
cases=60
[[ $brief ]] && cases=8
trial "hunt of $cases random cases" 'no finding' run verify --random "$cases" --ranks "$gpus" --seed 1 --stop-at-first

say ''
say 'Faults'
trial 'killed and resumed on another layout' "the losses of a run that was not" resumed
if command -v compute-sanitizer >/dev/null; then
  trial 'memcheck' 'no error' watched memcheck
  trial 'racecheck' 'no race' watched racecheck
else
  say '  left out      compute-sanitizer: it is not on this machine'
fi

say ''
say 'Speed and memory'
if [[ $brief ]]; then
  say '  left out      throughput: --brief'
else
  for ranks in 1 "$gpus"; do
    trial "GPT-2 124M, bf16, $ranks GPUs" 'a run of 40 steps' throughput "$ranks" && say "                  $(tail -n 1 out)"
    ((gpus == 1)) && break
  done
fi

say ''
if ((${#differs[@]} == 0)); then
  say 'All is as expected.'
  exit 0
fi
say "${#differs[@]} of these differ from what was expected:"
for text in "${differs[@]}"; do say "  $text"; done
exit 1
