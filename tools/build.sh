#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/build.sh FOLDER [meson option ...]: sets the folder up where that is needed, and builds TARGETS: ninja's targets,
# or `programs` for what a user gets, which is built if TARGETS is not set. Quiet unless it fails.
set -eu
folder=$1
shift
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# Installed packages are part of the state: meson must find one that was installed later.
mark="$source $* ${CC-} $(pkg-config --modversion cmocka libzstd 2>/dev/null | tr '\n' ' ')$(command -v scdoc || :)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A folder made for another path (a moved or copied tree) or with other options or packages is made again. With AS_MADE=1
# the packages and the compiler are not compared.
made_for=$(cat "$folder/.made-for" 2>/dev/null || :)
case $made_for in "$source $* "*) [ -z "${AS_MADE-}" ] || mark=$made_for ;; esac
if [ ! -f "$folder/build.ninja" ] || [ "$made_for" != "$mark" ]; then
    # Tapes stay: they belong to the user (./demo).
    find "$folder" -mindepth 1 -maxdepth 1 ! -name '*.baro' -exec rm -rf {} + 2>/dev/null || :
    # Without dpkg-dev meson installs Debian's libraries into lib64, where nothing searches.
    case $* in
    *libdir=*) ;;
    *)
        triplet=$(${CC:-cc} -print-multiarch 2>/dev/null || :)
        [ -z "$triplet" ] || [ ! -d "/usr/lib/$triplet" ] || set -- "-Dlibdir=lib/$triplet" "$@" ;;
    esac
    meson setup "$folder" "$source" "$@" >"$log" 2>&1 || { tail -n 12 "$log" >&2; exit 1; }
    printf '%s' "$mark" >"$folder/.made-for"
fi
# ninja's `all` has the programs of the tests as well: a quarter of the CPU time of a build in which nobody runs them.
programs() {
    python3 -c 'import json, os, sys
folder = os.path.realpath(sys.argv[1])
for target in json.load(open(f"{folder}/meson-info/intro-targets.json")):
    if target["build_by_default"]:
        print(*(os.path.relpath(path, folder) for path in target["filename"]))' "$folder"
}
targets=
for target in ${TARGETS:-programs}; do
    [ "$target" != programs ] || target=$(programs)
    targets="$targets $target"
done
# shellcheck disable=SC2086  # the targets are meant to be split
ninja -C "$folder" $targets >"$log" 2>&1 || { sed -n "/FAILED/,\$p" "$log" | head -n 60 >&2; exit 1; }
if grep -q 'warning:' "$log"; then
    grep -v '^\[[0-9/]*\] [A-Z]' "$log" >&2
fi
