#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/fuzz.sh [SECONDS [TARGET ...]]: searches with libFuzzer for that time per target. Starts from the committed
# corpus; results stay in build-fuzz/: new inputs in corpus/, failures as crash-*. Then it makes MUTANTS (50,000)
# mutants of tapes (tools/mutants.sh), which TARGET `mutants` makes alone.
set -eu
seconds=${1:-60}
[ $# -eq 0 ] || shift
cd "$(dirname -- "$0")/.."
tools/deps.sh build full
tools/deps.sh fuzz
CC=clang TARGETS=fuzz-programs tools/build.sh build-fuzz -Dfuzz=libfuzzer -Db_sanitize=address,undefined -Db_lundef=false
targets=${*:-$(find fuzz -name 'fuzz_*.c' | sed 's,.*/fuzz_\(.*\)\.c,\1,' | sort) mutants}
failed=0
for target in $targets; do
    if [ "$target" = mutants ]; then
        echo "fuzz: ${MUTANTS:-50000} mutants of tapes"
        tools/mutants.sh build-fuzz "${MUTANTS:-50000}" || failed=1
        continue
    fi
    mkdir -p "build-fuzz/corpus/$target"
    echo "fuzz: $target, $seconds s"
    if ! "build-fuzz/fuzz/fuzz_$target" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
        -artifact_prefix="build-fuzz/crash-$target-" "build-fuzz/corpus/$target" "fuzz/corpus/$target"; then
        echo "fuzz: $target failed; see build-fuzz/crash-$target-*"
        failed=1
    fi
done
exit $failed
