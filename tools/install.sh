#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/install.sh FOLDER PREFIX [meson option ...]: installs what tools/build.sh builds in FOLDER, below $DESTDIR and
# PREFIX. Root builds as the user whose FOLDER it is, so that `make` works for that user afterwards. If the library is
# for this machine, the loader finds it then.
set -eu
folder=$1 prefix=$2
shift 2
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
owner=$source
[ ! -d "$folder" ] || owner=$folder
uid=$(stat -c %u "$owner")

as_owner()
{
    if [ "$(id -u)" = 0 ] && [ "$uid" != 0 ] && command -v setpriv >/dev/null 2>&1; then
        home=$(getent passwd "$uid" | cut -d: -f6)
        setpriv --reuid "$uid" --regid "$(stat -c %g "$owner")" --clear-groups env HOME="${home:-/}" "$@"
    else
        "$@"
    fi
}

# Meson's value of an option of the folder.
value()
{
    python3 -c 'import json, sys
for option in json.load(open(sys.argv[1] + "/meson-info/intro-buildoptions.json")):
    if option["name"] == sys.argv[2]:
        print(option["value"])' "$folder" "$1"
}

# sudo(8) has another environment than the user who built.
AS_MADE=1
export AS_MADE
as_owner "$source/tools/build.sh" "$folder" "$@"
# The prefix is in units of systemd and in libbaro.pc, but in no object, so that nothing is compiled again.
if [ "$(value prefix)" != "$prefix" ]; then
    as_owner meson configure "$folder" "-Dprefix=$prefix"
    as_owner "$source/tools/build.sh" "$folder" "$@"
fi
meson install -C "$folder" --no-rebuild --strip --quiet
[ "$(id -u)" != 0 ] || chown -R --reference="$folder" "$folder/meson-logs"
libraries=$(value libdir)
case $libraries in /*) ;; *) libraries=$prefix/$libraries ;; esac
# Meson strips no archives.
strip --strip-debug "${DESTDIR-}$libraries/libbaro.a" 2>/dev/null || :
echo "install: ${DESTDIR-}$prefix/bin/baro, ${DESTDIR-}$libraries/libbaro.so"
[ -z "${DESTDIR-}" ] || exit 0

# The loader has a cache of the folders that it searches.
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" != 0 ] || ldconfig 2>/dev/null || :
if ! ldconfig -p 2>/dev/null | grep -qF "=> $libraries/libbaro.so"; then
    echo "install: the loader does not search $libraries: link your programs with -Wl,-rpath,$libraries"
fi
