#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/bench.sh [FOLDER] [QUESTION...]: measures what the baro in FOLDER costs on this machine, compared with
# the other tools that are installed. Prints figures and asserts nothing.
set -eu
cd "$(dirname -- "$0")/.."
build=${1:-build}
[ $# = 0 ] || shift
mkdir -p "$build/bench"
for source in bench/floor.c bench/host_floor.c bench/population.c bench/work.c bench/wrap_true.c; do
    cc -O2 -pthread -D_GNU_SOURCE -o "$build/bench/$(basename "$source" .c)" "$source"
done
exec /usr/bin/python3 bench/table.py --build "$build" "$@"
