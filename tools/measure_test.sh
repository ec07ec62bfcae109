#!/bin/bash
# Runs a test and appends its CPU seconds, and those of the processes it waited for: tools/measure_test.sh FILE NAME COMMAND...
file=$1 name=$2
shift 2
"$@"
code=$?
read -r -a stat </proc/$$/stat
printf '%s\t%d.%02d\n' "$name" $(((stat[15] + stat[16]) / 100)) $(((stat[15] + stat[16]) % 100)) >>"$file"
exit "$code"
