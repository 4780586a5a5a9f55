#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cross-compiles baro for aarch64, boots Debian 12's arm64 kernel (6.1) in QEMU without KVM, and runs the unit tests and
# a selection of the end-to-end tests there. Then compares what the two binaries, x86-64 and aarch64, read from the same
# tapes, byte for byte.
#
#   tools/arm64-check.sh [BARO]       BARO: the binary of this machine (build/baro); status 77 with the reason if it is not possible here
#   tools/arm64-check.sh --archive FILE [KERNEL]     boots nothing but busybox and an archive of tools/release, and runs its programs
#   tools/arm64-check.sh --only-build FOLDER SOURCE [MESON OPTION...]     cross-compiles SOURCE into FOLDER, no more
#
# Needs gcc-aarch64-linux-gnu, qemu-system-arm and cpio (tools/deps.sh full). Debian's arm64 packages are downloaded
# through an apt configuration of its own, unpacked in build-arm64 and kept there; nothing is installed, and this
# machine's apt does not change.
set -eu
cd "$(dirname -- "$0")/.."
only='' archive='' kernel=
if [ "${1-}" = --archive ]; then
    archive=$(realpath "$2") kernel=${3:+$(realpath "$3")}
elif [ "${1-}" = --only-build ]; then
    only=$2 source=$3
    shift 3
else
    baro=$(realpath "${1-build/baro}")
fi
keep=$PWD/build-arm64
seconds=${ARM64_CHECK_SECONDS:-1500} # then it gives up
packages='libc6-dev libc-bin libzstd-dev libcmocka-dev libncurses-dev libyaml-dev libsqlite3-dev zlib1g-dev busybox-static dash bash coreutils procps util-linux mount findutils grep sed mawk gzip strace
    python3-pytest python3-psutil'

skip()
{
    echo "arm64-check: skipped: $*"
    exit 77
}

needed='aarch64-linux-gnu-gcc meson'
[ -n "$only" ] || needed="$needed qemu-system-aarch64 cpio"
for program in $needed; do
    command -v "$program" >/dev/null 2>&1 || skip "no $program (tools/deps.sh full installs it)"
done
[ "$(uname -m)" = x86_64 ] || skip 'this machine is not x86_64'

# apt for arm64, with lists and packages of its own. $1: a folder. It downloads from the Debian mirrors of this
# machine's apt.
own_apt()
{
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial" "$1/parts"
    : >"$1/status"
    cp /etc/apt/sources.list "$1/sources.list" 2>/dev/null || : >"$1/sources.list"
    for file in /etc/apt/sources.list.d/*; do
        ! grep -qi debian "$file" 2>/dev/null || cp "$file" "$1/parts/"
    done
    cat >"$1/apt.conf" <<END2
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State "$1/state";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Etc::SourceList "$1/sources.list";
Dir::Etc::SourceParts "$1/parts";
END2
    export APT_CONFIG="$1/apt.conf"
}

# $keep/root: Debian's packages for arm64, unpacked; for compiling and for the guest. $keep/vmlinuz: its kernel.
fetch()
{
    command -v apt-get >/dev/null 2>&1 || skip 'kernel and libraries are Debian packages, and there is no apt-get'
    rm -rf "$keep/new"
    mkdir -p "$keep/new/root"
    (
        own_apt "$keep/new/apt"
        log="$keep/new/log"
        apt-get update >"$log" 2>&1 || exit 1
        kernel=$(apt-cache depends linux-image-arm64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
        [ -n "$kernel" ] || exit 1
        # shellcheck disable=SC2086  # the list is meant to be split
        apt-get install -y --download-only --no-install-recommends $packages >>"$log" 2>&1 || exit 1
        (cd "$keep/new" && apt-get download "$kernel" >>"$log" 2>&1) || exit 1
    ) || { tail -n 5 "$keep/new/log" >&2; skip "can't download Debian's packages for arm64"; }
    for package in "$keep"/new/apt/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$keep/new/root"
    done
    dpkg-deb --fsys-tarfile "$keep"/new/linux-image-*.deb | tar -C "$keep/new" -x --wildcards './boot/vmlinuz-*'
    mv "$keep"/new/boot/vmlinuz-* "$keep/new/vmlinuz"
    rm -rf "$keep/new/apt" "$keep"/new/*.deb "$keep/new/boot" "$keep/root" "$keep/new/root/usr/share/doc" "$keep/new/root/usr/share/man" "$keep/new/root/usr/share/locale"
    mv "$keep/new/vmlinuz" "$keep/vmlinuz"
    mv "$keep/new/root" "$keep/root"
}

# How meson compiles for arm64.
cross()
{
    cat >"$keep/cross.ini" <<END2
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot=$keep/root']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[properties]
sys_root = '$keep/root'
pkg_config_libdir = '$keep/root/usr/lib/aarch64-linux-gnu/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END2
}

# Makes the guest's file system in folder $1: Debian's root without files for compilers and documentation, baro, its
# tests, and tapes of this machine.
pack()
{
    mkdir -p "$1/src/build/tests/e2e" "$1/src/build/tests/unit" "$1/src/tests" "$1/tapes" "$1/dev" "$1/proc" "$1/sys" "$1/tmp"
    tar -C "$keep/root" -c --exclude='*.a' --exclude='*.o' --exclude='./usr/include' --exclude='./usr/share/*' --exclude='./usr/bin/perl*' \
        --exclude='./usr/lib/*/perl*' --exclude='./usr/lib/gcc' . | tar -C "$1" -x
    mkdir "$1/src/docs"
    cp docs/verdicts.md "$1/src/docs/"
    cp -a include src "$1/src/"
    cp -a tests/e2e tests/fixtures tests/golden tests/tape "$1/src/tests/"
    /usr/bin/python3 tests/e2e/programs.py "$keep/build/baro" "$1/src/build"
    find "$keep/build/tests/unit" "$keep/build/tests/e2e" -maxdepth 1 -type f -perm -u+x | while read -r file; do
        cp "$file" "$1/src/build/tests/$(basename "$(dirname "$file")")/"
    done
    cp tests/tape/*.baro "$1/tapes/"
    "$baro" run -q -o "$1/tapes/x86.baro" --interval 20ms -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ls -l / >/dev/null; done; sleep 0.3; exit 3' || [ $? = 3 ]
    ln -sf dash "$1/bin/sh"
    for name in poweroff ip; do
        [ -e "$1/bin/$name" ] || ln -s busybox "$1/bin/$name"
    done
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$1/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
    printf '/lib/aarch64-linux-gnu\n/usr/lib/aarch64-linux-gnu\n' >"$1/etc/ld.so.conf"
    cp tools/arm64-init "$1/init"
    cp tools/tape-readings "$1/src/"
    chmod +x "$1/init"
    ln -s mawk "$1/usr/bin/awk" 2>/dev/null || true
}

[ -e "$keep/vmlinuz" ] && [ -e "$keep/root/usr/lib/aarch64-linux-gnu/libz.a" ] || fetch
# $1: kernel, $2: folder of the guest's files, $3: where its console goes.
boot()
{
    (cd "$2" && find . | cpio --quiet -R 0:0 -o -H newc) >"$2.initrd"
    timeout "$seconds" qemu-system-aarch64 -machine virt -cpu cortex-a72 -accel tcg,thread=multi -smp 2 -m 1536 -display none -monitor none -serial stdio \
        -no-reboot -nic none -kernel "$1" -initrd "$2.initrd" -append "console=ttyAMA0 quiet panic=-1" </dev/null >"$3" 2>&1
}

# Prints what the programs of the archive did, and fails if one of them did.
run_archive()
{
    mkdir -p "$1/root/bin"
    cp "$keep/root/bin/busybox" "$1/root/bin/"
    cp tools/archive-init "$1/root/init"
    chmod +x "$1/root/init"
    tar -C "$1/root" -xf "$archive"
    boot "${kernel:-$keep/vmlinuz}" "$1/root" "$1/console" || :
    tr -d '\r' <"$1/console" | sed -n 's/^@@ //p' >"$1/said"
    cat "$1/said"
    grep -q '^end$' "$1/said" || { tail -n 30 "$1/console"; echo 'arm64-check: the guest did not finish'; return 1; }
    ! grep -q '^not-ok' "$1/said"
}

if [ -n "$archive" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    run_archive "$work"
    exit
fi
cross
if [ -n "$only" ]; then
    exec "$source/tools/build.sh" "$only" --cross-file "$keep/cross.ini" "$@"
fi
TARGETS="all unit-programs" tools/build.sh "$keep/build" --cross-file "$keep/cross.ini" --werror || exit 1
work=$(mktemp -d)
trap '[ -n "${ARM64_CHECK_KEEP-}" ] && cp "$work/console" "$ARM64_CHECK_KEEP"; rm -rf "$work"' EXIT
pack "$work/root"
boot "$keep/vmlinuz" "$work/root" "$work/console" ||
    { tail -n 30 "$work/console"; echo 'arm64-check: the guest did not finish'; exit 1; }
tr -d '\r' <"$work/console" >"$work/said"

# The tape that the guest wrote, and the output of this machine's binary for all tapes.
sed -n '/^@@ begin/,/^@@ end/p' "$work/said" | grep -v '^@@' | base64 -d >"$work/root/tapes/arm.baro"
# shellcheck source=tools/tape-readings
. tools/tape-readings
(export TZ=UTC LC_ALL=C.UTF-8 HOME=/root; readings "$baro" "$work/root/tapes") >"$work/readings"
/usr/bin/python3 tools/arm64_check.py "$work/said" "$work/readings"
