#!/bin/bash
# shoal launch: starting, the first cause, signals, output, wrong input.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

expect_exit 0 "$shoal" launch --ranks 3 -- doctor --brief
expect_text "$scratch/out" '^  ranks +3$'
[ "$(grep -c '^host$' "$scratch/out")" = 1 ] || fail 'only rank 0 speaks'

expect_exit 2 "$shoal" launch --ranks 0 -- doctor
expect_text "$scratch/err" '--ranks is 0'
expect_exit 2 "$shoal" launch --ranks 2
expect_text "$scratch/err" 'nothing to launch'
expect_exit 2 "$shoal" launch --ranks 2 --hosts 2 -- doctor
expect_text "$scratch/err" '--address must give'
expect_exit 2 "$shoal" launch --ranks 2 -- ./no-such-program
expect_text "$scratch/err" "cannot start './no-such-program'"
expect_exit 2 "$shoal" launch --rank 2 -- doctor
expect_text "$scratch/err" "no option '--rank'; did you mean '--ranks'"
expect_exit 2 "$shoal" launch --ranks 2 doctor
expect_text "$scratch/err" 'write the command after --'
expect_exit 2 "$shoal" launch --ranks 2 --hosts 2147483647 --address 127.0.0.1 -- doctor
expect_text "$scratch/err" '--hosts is 2147483647, but must be from 1 to'
expect_exit 2 "$shoal" launch --ranks 2 --hosts 2 --host 2 --address 127.0.0.1 -- doctor
expect_text "$scratch/err" '--host is 2, but with --hosts 2 must be from 0 to 1'
expect_exit 2 "$shoal" launch --ranks 2 --address 127.0.0.1 -- doctor
expect_text "$scratch/err" '--address is for a job on several hosts'
: >"$scratch/file"
for output in "$scratch/file" "$scratch/file/sub" ''; do
  expect_exit 2 "$shoal" launch --ranks 2 --output "$output" -- doctor --brief
  expect_text "$scratch/err" "--output(: '' is no path| is )"
done

# No space is not somebody's mistake: it may pass.
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
  mkdir "$scratch/full"
  # shellcheck disable=SC2016  # the words behind it
  on_a_full_disk='mount -t tmpfs -o nr_inodes=1 none "$0" && exec "$1" launch --ranks 2 --output "$0/logs" -- doctor --brief'
  expect_exit 74 unshare --mount sh -c "$on_a_full_disk" "$scratch/full" "$shoal"
  expect_text "$scratch/err" "^error: cannot create $scratch/full/logs: No space left on device"
fi

# A command of shoal that fails says why, once as itself and once as the cause.
expect_exit 2 "$shoal" launch --ranks 2 -- docter
expect_text "$scratch/err" "launch: rank [01] .* ended with exit code 2 .*: shoal has no command 'docter'"

cat >"$scratch/rank.sh" <<'RANK'
#!/bin/bash
trap 'echo "rank $SHOAL_RANK saves"; exit 75' TERM
[ "$SHOAL_RANK" = 1 ] && [ "$1" = kill ] && kill -KILL $$
echo "rank $SHOAL_RANK is up"
: >"$2/up.$SHOAL_RANK"
while :; do sleep 0.05; done
RANK
chmod +x "$scratch/rank.sh"

mkdir "$scratch/a"
expect_exit 137 "$shoal" launch --ranks 3 --grace 5 -- "$scratch/rank.sh" kill "$scratch/a"
expect_text "$scratch/err" 'launch: rank 1 \(pid [0-9]+\) was killed by SIGKILL after [0-9.]+ s; stopped the 2 still running'

# A signal to the launcher reaches every rank, whose output is kept in files.
mkdir "$scratch/b"
"$shoal" launch --ranks 3 --output "$scratch/logs" -- "$scratch/rank.sh" wait "$scratch/b" 2>"$scratch/err" &
launcher=$!
until [ -e "$scratch/b/up.0" ] && [ -e "$scratch/b/up.1" ] && [ -e "$scratch/b/up.2" ]; do sleep 0.02; done
kill -TERM "$launcher"
code=0
wait "$launcher" || code=$?
[ "$code" = 75 ] || fail "exit code $code instead of 75 after SIGTERM"
for rank in 0 1 2; do expect_text "$scratch/logs/rank-$rank.log" "rank $rank saves"; done

# Nothing outlives the launcher, however it ends.
mkdir "$scratch/c"
"$shoal" launch --ranks 2 -- "$scratch/rank.sh" wait "$scratch/c" >/dev/null 2>&1 &
launcher=$!
until [ -e "$scratch/c/up.0" ] && [ -e "$scratch/c/up.1" ]; do sleep 0.02; done
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null || true
for _ in $(seq 100); do pgrep -f "$scratch/rank.sh wait $scratch/c" >/dev/null || break; sleep 0.05; done
! pgrep -f "$scratch/rank.sh wait $scratch/c" >/dev/null || fail 'ranks outlive a killed launcher'
