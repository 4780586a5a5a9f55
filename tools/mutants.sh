#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/mutants.sh FOLDER [COUNT [SEED]]: COUNT mutants (50,000) of tapes, those of tests/tape and three that it
# records, go through every reader (fuzz/mutate_tapes.c), on all CPUs. FOLDER was built by tools/build.sh; with
# sanitizers it finds more. Mutants that fail stay in FOLDER/mutants/.
set -eu
folder=$1
count=${2:-50000}
seed=${3:-1}
cd "$(dirname -- "$0")/.."
ninja -C "$folder" --quiet baro fuzz/mutate_tapes
kept=$folder/mutants
tapes=$(mktemp -d)
trap 'rm -rf "$tapes"' EXIT
mkdir -p "$kept"
baro=$folder/baro
"$baro" run -q -i 10ms -o "$tapes/forks.baro" -- sh -c '
    i=0; while [ $i -lt 40 ]; do /bin/true; sleep 0.01 & i=$((i+1)); done; wait'
"$baro" run -q -i 20ms -o "$tapes/tree.baro" -- sh -c 'for i in 1 2 3 4 5 6; do sh -c "sleep 1; exit $i" & done; wait'
"$baro" record -q --host --for 1s -i 50ms -o "$tapes/host.baro"

jobs=$(nproc)
each=$(((count + jobs - 1) / jobs))
pids=
job=0
while [ $job -lt "$jobs" ]; do
    "$folder/fuzz/mutate_tapes" -n $each -f $((job * each)) -s "$seed" -o "$kept" tests/tape/*.baro "$tapes"/*.baro &
    pids="$pids $!"
    job=$((job + 1))
done
failed=0
for pid in $pids; do
    wait "$pid" || failed=1
done
exit $failed
