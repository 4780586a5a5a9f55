#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/bench.sh [FOLDER]: what the baro in FOLDER costs on this machine. Prints; judges nothing.
set -eu
cd "$(dirname -- "$0")/.."
build=${1:-build}
mkdir -p "$build/bench"
for source in bench/*.c; do
    cc -O2 -D_GNU_SOURCE -o "$build/bench/$(basename "$source" .c)" "$source"
done
printf 'int main(void) { return 0; }\n' | cc -O2 -x c - -o "$build/bench/empty"

BARO_DIR=$(mktemp -d)
export BARO_DIR
trap 'rm -rf "$BARO_DIR"' EXIT

echo 'start and end of a program, and what a wrapper adds to a short command (interleaved; medians):'
"$build/bench/wrap_true" 500 "$build/bench/empty" , "$build/baro" --version , env "$build/bench/empty" , "$build/baro" run -q -- "$build/bench/empty" </dev/null
