#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the unit tests with the compiler and libraries of another release of Debian or Ubuntu, in a minimal
# root of it (debootstrap).
#
#   tools/distro-check.sh SUITE [CC]    e.g. bullseye, trixie, noble; CC: a compiler that is a package there (clang-18)
#
# The root is made once and kept in build-distro/SUITE. Needs root and debootstrap (tools/deps.sh full); status 77 with
# the reason where that is not possible.
set -eu
cd "$(dirname -- "$0")/.."
suite=${1:?a release, e.g. trixie}
cc=${2-gcc}
root=$PWD/build-distro/$suite
packages=gcc,g++,libc6-dev,meson,ninja-build,pkg-config,libzstd-dev,libcairo2-dev,libncurses-dev,libyaml-dev,libmicrohttpd-dev,scdoc,libcmocka-dev,python3

skip()
{
    echo "distro-check: skipped: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || skip 'needs root'
command -v debootstrap >/dev/null 2>&1 || skip 'no debootstrap (tools/deps.sh full installs it)'
unshare -m -p -f true 2>/dev/null || skip 'namespaces are not available'
components=main
[ ! -e "/usr/share/debootstrap/scripts/$suite" ] || ! grep -q ubuntu "/usr/share/debootstrap/scripts/$suite" || components=main,universe
if [ ! -e "$root/made" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --components="$components" --include="$packages" "$suite" "$root" >"$root.log" 2>&1 ||
        { tail -n 5 "$root.log" >&2; skip "debootstrap can't make a root"; }
    touch "$root/made"
fi
cat >"$root.inside" <<'END'
set -eu
root=$1 source=$2 cc=$3
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mkdir -p "$root/src" "$root/build-$cc"
mount --bind -o ro "$source" "$root/src"
exec env -i CC="$cc" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root CMOCKA_MESSAGE_OUTPUT=STDOUT chroot "$root" sh -eu -c '
    cd /build-$CC
    command -v "$CC" >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y "$CC" >/dev/null 2>&1
    "$CC" --version | head -n 1
    [ -e build.ninja ] || meson setup --werror . /src >setup.log || { tail -n 20 setup.log; exit 1; }
    ninja -k 0 all unit-programs >build.log 2>&1 || { grep -m 20 -A 5 -e error: -e FAILED build.log; exit 1; }
    meson test --suite unit --no-rebuild --print-errorlogs >test.log 2>&1 || { tail -n 60 test.log; exit 1; }
    tail -n 8 test.log'
END
exec unshare -m -p -f sh "$root.inside" "$root" "$PWD" "$cc"
