#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that read /proc where it is mounted with hidepid=2, as on machines with many users.
#
#   tools/hidepid-check.sh [BARO [PYTEST OPTION...]]      needs root; status 77 with the reason if it is not possible here
set -eu
cd "$(dirname -- "$0")/.."
baro=$(realpath "${1-build/baro}")
[ $# -lt 1 ] || shift
if ! unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc' 2>/dev/null; then
    echo 'hidepid-check: skipped: may not mount /proc here'
    exit 77
fi
exec unshare -m sh -c '
    set -eu
    mount -t proc -o hidepid=2 proc /proc
    folder=$1
    shift
    failed=0
    for name in procfs_reader collect exits exits_live host_hidden own; do
        BARO_FIXTURES=$PWD/tests/fixtures "$folder/tests/unit/$name" || failed=1
    done
    BARO="$folder/baro" /usr/bin/python3 -m pytest -q -ra -p no:cacheprovider --ignore tests/e2e/test_matrix.py --ignore tests/e2e/test_elsewhere.py "$@" tests/e2e || failed=1
    exit $failed
' sh "$(dirname "$baro")" "$@"
