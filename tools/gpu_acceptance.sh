#!/bin/bash
# shellcheck disable=SC2317  # trial() calls the functions below
# The first hour on real GPUs, made boring: one file to send to somebody with 1 to 8 GPUs.
#
#   tools/gpu_acceptance.sh --gpus 4 [--shoal build/cuda] [--report gpu_acceptance.txt] [--brief] [--only PART]... [-- WORDS...]
#
# It runs for about 20 minutes (--brief: 5, with small models and few cases) and writes one report, which can be sent back: what
# was run, what was expected, what was seen, and in words what differs. Its parts are calls, layouts, faults and speed. Without
# --shoal it builds the tree that it stands in. WORDS are put before every command, such as "softcuda --devices 4 --" for fake GPUs.
# Nothing is installed, and nothing is left behind but the report. Exit codes: 0 when all is as expected, 1 when something differs,
# 2 for wrong words.
set -u

usage() { sed -n '3,12s/^# \{0,1\}//p' "$0"; }
wrong_words() { echo "gpu_acceptance: $1" >&2; usage >&2; exit 2; }
tree=$(cd "$(dirname "$0")/.." && pwd)
directory='' gpus='' report=gpu_acceptance.txt brief='' parts=() before=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --shoal | --gpus | --report | --only) [[ $# -ge 2 ]] || wrong_words "$1 needs a value" ;;&
    --shoal) directory=$2; shift 2 ;;
    --gpus) gpus=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    --only) parts+=("$2"); shift 2 ;;
    --brief) brief=yes; shift ;;
    --help) usage; exit 0 ;;
    --) shift; before=("$@"); break ;;
    *) wrong_words "what is $1?" ;;
  esac
done
[[ $gpus =~ ^[1-8]$ ]] || wrong_words '--gpus is the number of GPUs, from 1 to 8'
for part in "${parts[@]}"; do [[ $part =~ ^(calls|layouts|faults|speed)$ ]] || wrong_words "--only $part: the parts are calls, layouts, faults and speed"; done
if [[ ! $directory ]]; then
  directory=$tree/build/cuda
  (cd "$tree" && tools/deps.sh lean engine cuda && cmake --preset cuda && cmake --build --preset cuda) || wrong_words 'the tree does not build'
fi
directory=$(readlink -f "$directory")
shoal=$directory/shoal
[[ -x $shoal ]] || wrong_words "$directory has no shoal"
report=$(readlink -f "$report")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
differs=()

say() { printf '%s\n' "$*" | tee -a "$report"; }
run() { "${before[@]}" "$shoal" "$@"; }
launched() { local ranks=$1; shift; if ((ranks > 1)); then run launch --ranks "$ranks" -- "$@"; else run "$@"; fi; }
chosen() { ((${#parts[@]} == 0)) || [[ " ${parts[*]} " == *" $1 "* ]]; }
left_out() { say "  left out      $1: $2"; }

# trial NAME EXPECTED COMMAND...: the command ends with exit code 0. What it prints last is a part of the report; when it fails, what it says of it.
trial() {
  local name=$1 expected=$2 began=$SECONDS code figures
  shift 2
  "$@" >out 2>err
  code=$?
  if [[ $code -eq 0 ]]; then
    figures=$(grep '^seen: ' out | tail -n 1)
    say "  as expected   $name ($((SECONDS - began)) s): $expected${figures:+; ${figures#seen: }}"
    return 0
  fi
  say "  DIFFERS       $name ($((SECONDS - began)) s): expected $expected, but the exit code is $code:"
  { grep -hE 'error|bug|softcuda:|launch:|FAILED|^case [0-9]+ of seed' err out || tail -qn 3 err out; } | head -n 6 | cut -c1-400 | sed 's/^/                  /' | tee -a "$report"
  differs+=("$name: expected $expected")
  return 1
}

# ---- what is tried ----

conformance() {  # every call of the NCCL backend against a serial reference
  local suite=$directory/tests/softgpu/softgpu_conformance_test filter=''
  for ranks in 1 2 3 4 8; do ((ranks <= gpus)) && filter+=":Gpus/*nccl_$ranks"; done
  "${before[@]}" "$suite" --gtest_brief=1 --gtest_filter="${filter#:}"
}

proof() { launched "$gpus" doctor && { ((gpus == 1)) || grep -q 'these ranks train like one' out; }; }

# The largest relative difference between the losses of two runs, of as many steps as expected.
compare_losses() {  # RUN RUN STEPS ALLOWED
  awk -F, -v steps="$3" -v allowed="$4" '
    FNR == 1 { file++; next }
    file == 1 { loss[$1] = $3 }
    file == 2 { n++; d = (loss[$1] - $3) / $3; if (d < 0) d = -d; if (!(d <= worst)) { worst = d; at = $1 } }
    END { printf "seen: losses differ by at most %.1e\n", worst
          if (n != steps) { printf "FAILED: %d steps were logged, not %d\n", n, steps; exit 1 }
          if (!(worst <= allowed)) { printf "FAILED: the loss of step %d differs by %.1e of it, allowed are %.1e: wrong numbers, not round-off\n", at, worst, allowed; exit 1 } }' \
    "runs/$1/metrics.csv" "runs/$2/metrics.csv"
}

same_losses() {  # NAME RANKS PRECISION ALLOWED SETS...: a training has the losses of one CPU process
  local name=$1 ranks=$2 precision=$3 allowed=$4 sets=() all=()
  shift 4
  for word in "$@"; do all+=(--set "$word"); [[ $word == parallel.* ]] || sets+=(--set "$word"); done
  "$shoal" train small.yaml --set train.device=cpu --set "train.precision=$precision" --set "run.name=cpu-$name" "${sets[@]}" >cpu.out 2>&1 || { cat cpu.out >&2; return 1; }
  launched "$ranks" train small.yaml --set train.device=cuda --set "train.precision=$precision" --set "run.name=$name" "${all[@]}" || return 1
  compare_losses "cpu-$name" "$name" 8 "$allowed"
}

# The process of a rank. A job in the background is a shell, below it the launcher, below that the ranks.
rank_of() {  # JOB RANK
  local process
  for process in $(pgrep -P "$(pgrep -P "$1")"); do
    grep -qz "^SHOAL_RANK=$2\$" "/proc/$process/environ" && echo "$process"
  done
}

reaches() {  # JOB RUN STEP: waits until the run has logged that step
  local last
  for _ in $(seq 1200); do
    last=$(tail -n 1 "runs/$2/metrics.csv" 2>/dev/null | cut -d, -f1)
    [[ $last =~ ^[0-9]+$ && $last -ge $3 ]] && return 0
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  echo "FAILED: the run has ended, or hangs, before step $3"
  return 1
}

resumed() {  # a run is killed and goes on with another layout
  local steps=(--set train.steps=30 --set train.save_every=5 --set train.init_from=resume)
  "$shoal" train small.yaml --set train.device=cpu "${steps[@]}" --set run.name=whole >cpu.out 2>&1 || return 1
  launched "$gpus" train small.yaml --set train.device=cuda "${steps[@]}" --set run.name=moved --set "parallel.dp_shard=$gpus" >first.out 2>first.err &
  local job=$!
  reaches "$job" moved 12 || { cat first.err; return 1; }
  pkill -KILL -P "$job"  # ranks do not outlive their launcher
  wait "$job"
  run train small.yaml --set train.device=cuda "${steps[@]}" --set run.name=moved --set run.take_over=true || return 1
  compare_losses whole moved 30 1e-5
}

stopped() {  # the last rank stops, and the others name it
  local job last=$((gpus - 1))
  launched "$gpus" train small.yaml --set train.device=cuda --set train.steps=1000000 --set comm.deadline=5s --set run.name=stopped --set "parallel.dp_shard=$gpus" >stopped.out 2>stopped.err &
  job=$!
  reaches "$job" stopped 4 || { cat stopped.err; return 1; }
  kill -STOP "$(rank_of "$job" "$last")"
  wait "$job"
  local code=$?
  [[ $code -eq 75 ]] || { echo "FAILED: the job ended with exit code $code, not 75"; cat stopped.err; return 1; }
  grep -q "rank $last did not arrive" stopped.err || { echo "FAILED: nobody names rank $last"; cat stopped.err; return 1; }
}

sanitized() {  # TOOL of compute-sanitizer
  compute-sanitizer --tool "$1" --error-exitcode 9 --target-processes all "$shoal" train small.yaml --set train.device=cuda --set train.steps=3 --set "run.name=sanitized-$1"
}

traced() {  # the time of each operation of the step's program, by Nsight Systems
  nsys profile --trace=cuda,nvtx --force-overwrite true --output trace "$shoal" train small.yaml --set train.device=cuda --set run.name=traced || return 1
  nsys stats --report nvtx_sum trace.nsys-rep >ranges.txt || return 1
  head -n 20 ranges.txt >>"$report"
  grep -q 'forward' ranges.txt || { echo 'FAILED: the trace has no range of the step program'; return 1; }
}

# GPT-2 124M, or with --brief a model that fake GPUs can train.
if [[ $brief ]]; then
  speed_name='a small GPT, bf16' layers=2 width=96 heads=6 context=128 vocabulary=257 rows=2 speed_steps=40
else
  speed_name='GPT-2 124M, bf16' layers=12 width=768 heads=12 context=1024 vocabulary=50304 rows=16 speed_steps=60
fi
speed_words() {  # RANKS
  printf -- '--set\n%s\n' "run.name=speed$1" 'data.sources=[tokens]' "model.vocab_size=$vocabulary" "model.layers=$layers" "model.width=$width" "model.heads=$heads" "model.context=$context" \
    "train.batch=$((rows * $1))" "train.micro_batch=$rows" train.precision=bf16 "parallel.dp_shard=$1"
}

ours() {  # RANKS: tokens per second, and memory beside the plan
  local words
  mapfile -t words < <(speed_words "$1")
  launched "$1" train --set run.directory=runs --set train.device=cuda --set "train.steps=$speed_steps" --set train.eval_every=0 "${words[@]}" || return 1
  "$shoal" plan small.yaml "${words[@]}" --ranks "$1" --json >plan.json || return 1
  awk -F, -v planned="$(sed -n 's/.*"peak_bytes": \([0-9]*\).*/\1/p' plan.json)" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { tokens = $at["tokens_per_second"]; mfu = $at["mfu"]; memory = $at["memory_bytes"] }
    END { printf "seen: %.0f tokens/s, mfu %s, %.1f MiB reserved, %.1f MiB of tensors planned\n", tokens, mfu == "" ? "unknown" : mfu, memory / 2 ^ 20, planned / 2 ^ 20
          # Small blocks of the allocator are 2 MiB and large ones 20 MiB: a small model has many that are half empty.
          if (!(memory >= planned * 0.95)) { printf "FAILED: %.1f MiB were reserved, less than planned\n", memory / 2 ^ 20; exit 1 }
          if (!(memory <= planned * 1.1 + 64 * 2 ^ 20)) { printf "FAILED: %.1f MiB were reserved, more than 1.1 of the plan and 64 MiB\n", memory / 2 ^ 20; exit 1 } }' "runs/speed$1/metrics.csv"
}

pytorch() {  # RANKS: the same model in plain PyTorch
  python3 -c 'import array, random, sys; array.array("H", (random.randrange(int(sys.argv[1])) for _ in range(200000))).tofile(open("tokens.bin", "wb"))' "$vocabulary" || return 1
  local words=("$tree/bench/plain_pytorch_train.py" --data tokens.bin --device cuda --dtype bfloat16 --layers "$layers" --width "$width" --heads "$heads" --context "$context" --vocab "$vocabulary"
    --batch "$((rows * $1))" --steps "$speed_steps" --log-every 10) jobs=()
  if (($1 > 1)); then words+=(--wrap fsdp2); fi
  for ((rank = 0; rank < $1; rank++)); do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29531 "${before[@]}" python3 "${words[@]}" >"pytorch$rank.out" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job" || return 1; done
  sed -n 's/.*"mean_step_seconds": \([0-9.e-]*\).*/\1/p' pytorch0.out | awk -v tokens=$((rows * $1 * context)) '{ printf "seen: %.0f tokens/s\n", tokens / $1 }'
}

# torchtitan's published 5,762 tokens/s per GPU are of eager bf16 on eight H100s of 500 W, two rows of 8,192 each, selective recomputation; 6,667 with torch.compile.
llama() {
  launched 8 train --set run.name=llama --set run.directory=runs --set 'data.sources=[tokens]' --set train.device=cuda --set model.layers=32 --set model.heads=32 --set model.kv_heads=8 --set model.width=4096 \
    --set model.hidden=14336 --set model.context=8192 --set model.vocab_size=128256 --set model.positions=rotary --set model.rotary.theta=500000 --set model.norm=rms --set model.activation=swiglu --set model.bias=none \
    --set model.tied=false --set train.batch=16 --set train.micro_batch=2 --set train.precision=bf16 --set train.recompute=selective --set train.steps=30 --set train.eval_every=0 --set parallel.dp_shard=8 || return 1
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { tokens = $at["tokens_per_second"]; mfu = $at["mfu"]; memory = $at["memory_bytes"] }
    END { printf "seen: %.0f tokens/s per GPU, mfu %s, %.1f GiB; torchtitan 5762, with compile 6667\n", tokens / 8, mfu, memory / 2 ^ 30 }' runs/llama/metrics.csv
}

# ---- the report ----

: >"$report"
say "shoal on $gpus GPUs: acceptance report of $(date -u +%Y-%m-%dT%H:%MZ)"
((${#before[@]})) && say "every command runs behind: ${before[*]##*/}"
run doctor 2>&1 | sed 's/^/  /' >>"$report"
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >>"$report" 2>&1

cat >small.yaml <<'YAML'
run: {directory: runs}
data: {sources: [tokens]}
model: {layers: 3, width: 96, heads: 6, context: 61}
train: {batch: 11, steps: 8, eval_every: 0, log_every: 4}
comm: {deadline: 60s}
YAML
for i in $(seq 1500); do printf 'a shoal of %d fish swims in deep water %d\n\n' "$i" $((i * 7 % 13)); done >text.txt
"$shoal" prepare --input text.txt --separator '\n\n' --tokenizer byte --output tokens >out 2>err || { cat err >&2; exit 2; }

if chosen calls; then
  say ''
  say 'Calls'
  if [[ -x $directory/tests/softgpu/softgpu_conformance_test ]]; then
    trial 'conformance' "every call of NCCL has the serial reference's result" conformance
  else
    left_out 'conformance' "$directory has no tests"
  fi
  trial 'proof' 'ranks that train like one' proof
fi

if chosen layouts; then
  say ''
  say 'Layouts'
  trial 'one GPU, fp32' "the CPU's losses within 1e-5" same_losses one 1 fp32 1e-5
  trial 'one GPU, bf16' "the CPU's losses within 2^-8" same_losses half 1 bf16 0.0039
  if ((gpus > 1)); then
    trial 'full_shard' "the CPU's losses within 1e-5" same_losses shards "$gpus" fp32 1e-5 "parallel.dp_shard=$gpus"
    trial 'tensor' "the CPU's losses within 1e-5" same_losses tensor 2 fp32 1e-5 parallel.tp=2
    trial 'pipeline' "the CPU's losses within 1e-5" same_losses pipeline 2 fp32 1e-5 parallel.pp=2 train.micro_batch=2
  fi
  ((gpus >= 4)) && trial 'pipeline of tensors' "the CPU's losses within 2^-8" same_losses both 4 bf16 0.0039 parallel.pp=2 parallel.tp=2 train.micro_batch=2
  cases=60
  [[ $brief ]] && cases=6
  trial "hunt of $cases random cases" 'no finding' run verify --random "$cases" --ranks "$gpus" --seed 1 --stop-at-first
fi

if chosen faults; then
  say ''
  say 'Faults'
  trial 'killed, and resumed on another layout' 'the losses of a run that was not killed, within 1e-5' resumed
  if ((gpus > 1)); then trial 'a rank that stops' 'its name, and exit code 75' stopped; fi
  if ((${#before[@]})); then
    left_out 'compute-sanitizer' 'commands run behind other words'
  elif command -v compute-sanitizer >/dev/null; then
    trial 'memcheck' 'no error' sanitized memcheck
    trial 'racecheck' 'no race' sanitized racecheck
  else
    left_out 'compute-sanitizer' 'it is not on this machine'
  fi
fi

if chosen speed; then
  say ''
  say 'Speed and memory'
  for ranks in 1 "$gpus"; do
    trial "$speed_name, $ranks GPUs" "memory as planned" ours "$ranks"
    if [[ -r $tree/bench/plain_pytorch_train.py ]] && "${before[@]}" python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import torch; sys.exit(not torch.cuda.is_available())' "$tree/.deps/site" 2>/dev/null; then
      trial "the same in plain PyTorch, $ranks GPUs" 'a figure to compare with' pytorch "$ranks"
    else
      left_out 'plain PyTorch' 'there is no Python with PyTorch and GPUs, or no bench/plain_pytorch_train.py'
    fi
    ((gpus == 1)) && break
  done
  if ((gpus == 8)) && command -v nvidia-smi >/dev/null && ! nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | awk '$1 < 79000' | grep -q .; then
    trial 'Llama 3.1 8B, 8 GPUs' "a figure beside torchtitan's" llama
  else
    left_out 'Llama 3.1 8B' 'it takes eight GPUs of 80 GB'
  fi
  if ((${#before[@]} == 0)) && command -v nsys >/dev/null; then
    trial 'trace' "time of each operation of the step's program" traced
  else
    left_out 'trace' 'Nsight Systems is not on this machine, or commands run behind other words'
  fi
fi

say ''
if ((${#differs[@]} == 0)); then
  say 'All is as expected.'
  exit 0
fi
say "${#differs[@]} of these differ from what was expected:"
for text in "${differs[@]}"; do say "  $text"; done
exit 1
