#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/build.sh FOLDER [meson option ...]: sets the folder up where that is needed, and builds (TARGETS, if that is
# set). Quiet unless it fails.
set -eu
folder=$1
shift
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# Installed packages are part of the state: meson must find one that was installed later.
mark="$source $* ${CC-} $(pkg-config --modversion cmocka libzstd 2>/dev/null | tr '\n' ' ')$(command -v scdoc || :)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A folder made for another path (a moved or copied tree) or with other options or packages is made again.
if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.made-for" 2>/dev/null)" != "$mark" ]; then
    # Tapes stay: they belong to the user (./demo).
    find "$folder" -mindepth 1 -maxdepth 1 ! -name '*.baro' -exec rm -rf {} + 2>/dev/null || :
    meson setup "$folder" "$source" "$@" >"$log" 2>&1 || { tail -n 12 "$log" >&2; exit 1; }
    printf '%s' "$mark" >"$folder/.made-for"
fi
# shellcheck disable=SC2086  # the targets are meant to be split
ninja -C "$folder" ${TARGETS-} >"$log" 2>&1 || { sed -n "/FAILED/,\$p" "$log" | head -n 60 >&2; exit 1; }
if grep -q 'warning:' "$log"; then
    grep -v '^\[[0-9/]*\] [A-Z]' "$log" >&2
fi
