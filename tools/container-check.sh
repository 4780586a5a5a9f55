#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the end-to-end tests in a typical container: a minimal Debian 12 in PID, mount, network and UTS namespaces of its
# own.
#
#   tools/container-check.sh bare|full [BARO [PYTEST OPTION...]]    status 77 with the reason if it is not possible here
#
# bare: no ptys, no visible control groups. full: devpts, and the control groups of the machine, writable. Needs root
# and debootstrap (tools/deps.sh full). The root is made once, from the mirror that this machine's apt uses, and kept in
# build-container.
set -eu
cd "$(dirname -- "$0")/.."
kind=${1-}
baro=${2-build/baro}
[ $# -lt 2 ] || shift
[ $# -lt 1 ] || shift
keep=$PWD/build-container
packages=python3-pytest,python3-pytest-xdist,python3-psutil,procps,util-linux,mount,strace,gcc,libc6-dev,make,bsdutils,time,sysstat,perl,iproute2,binutils,psmisc,curl
libraries=libcairo2,libmicrohttpd12,libncursesw6,libyaml-0-2 # of the programs in libexec

skip()
{
    echo "container-check: skipped: $*"
    exit 77
}

case $kind in bare|full) ;; *) echo 'container-check: the first argument is bare or full' >&2; exit 2 ;; esac
[ "$(id -u)" = 0 ] || skip 'needs root'
command -v debootstrap >/dev/null 2>&1 || skip 'no debootstrap (tools/deps.sh full installs it)'
unshare -m -p -n -u -f true 2>/dev/null || skip 'namespaces are not available'
packages=$packages,$libraries
if [ "$(cat "$keep/root/made" 2>/dev/null)" != "$packages" ]; then
    rm -rf "$keep"
    mkdir -p "$keep"
    mirror=$(sed -n 's/^URIs: *\(http[^ ]*debian\)\/\{0,1\}$/\1/p; s/^deb \(http[^ ]*debian\)\/\{0,1\} .*/\1/p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
    debootstrap --variant=minbase --include="$packages" bookworm "$keep/root" ${mirror:+"$mirror"} >"$keep/log" 2>&1 ||
        { tail -n 5 "$keep/log" >&2; skip "debootstrap can't make a root"; }
    echo "$packages" >"$keep/root/made"
fi
cat >"$keep/inside" <<'END2'
set -eu
root=$1 kind=$2 source=$3
shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -p "$root/dev/shm" "$root/src"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
if [ "$kind" = full ]; then
    mkdir -p "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mknod -m 666 "$root/dev/tty" c 5 0
    mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
fi
mount --bind "$source" "$root/src" # without mounts below it: the root itself is there, with its control groups
hostname container
ip link set lo up 2>/dev/null || :
mkdir -p "$root/old"
cd "$root"
pivot_root . old
umount -l old 2>/dev/null || umount -l /old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root PYTHONDONTWRITEBYTECODE=1 ${BARO_JOBS:+BARO_JOBS="$BARO_JOBS"} "$@"
END2
baro=$(realpath "$baro")
case $baro in "$PWD"/*) baro=/src/${baro#"$PWD"/} ;; *) skip 'the binary is not in the source tree' ;; esac
# Tests with the mark `alone` run one after the other when no other test does, as in tools/run-suites.
tests()
{
    unshare -m -p -n -u -f sh "$keep/inside" "$keep/root" "$kind" "$PWD" BARO="$baro" \
        /usr/bin/python3 -m pytest --rootdir=/src -q -ra -p no:cacheprovider "$@"
}
failed=0
tests -n 4 --dist loadgroup -m 'not alone' /src/tests/e2e "$@" || failed=1
tests -m alone /src/tests/e2e "$@" || failed=1
exit $failed
