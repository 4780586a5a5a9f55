#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the missing Debian packages for a purpose, and nothing else.
#
#   tools/deps.sh build|demo|test|full|fuzz|bench|pictures|api|release ...       (fuzz: after full)
#
# A package counts as installed if the parts that we use exist, wherever they came from. It installs as root or through
# sudo; else it prints what to install. Needs nothing but a shell and apt.
set -eu

# PROBE:PACKAGE  cmd/NAME a program, file/PATH a file, pc/NAME a pkg-config module, py/ and pl/NAME a module of Python,
# Perl
build='cmd/gcc:gcc file//usr/include/stdio.h:libc6-dev cmd/meson:meson cmd/ninja:ninja-build cmd/pkg-config:pkg-config
    pc/libzstd:libzstd-dev pc/cairo:libcairo2-dev pc/ncursesw:libncurses-dev pc/yaml-0.1:libyaml-dev pc/libmicrohttpd:libmicrohttpd-dev
    pc/sqlite3:libsqlite3-dev cmd/scdoc:scdoc pc/libcurl:libcurl4-openssl-dev
    file//usr/include/snappy-c.h:libsnappy-dev'
demo='cmd/make:make'
test='cmd/make:make cmd/g++:g++ pc/cmocka:libcmocka-dev py/pytest:python3-pytest py/xdist:python3-pytest-xdist py/psutil:python3-psutil
    cmd/strace:strace cmd/stress-ng:stress-ng cmd/setpriv:util-linux cmd/ps:procps cmd/nm:binutils cmd/mandoc:mandoc cmd/ip:iproute2 cmd/ss:iproute2
    cmd/shellcheck:shellcheck cmd/setsid:util-linux file//usr/bin/time:time cmd/script:bsdutils cmd/tmux:tmux cmd/bash:bash
    pl/Time::HiRes:perl cmd/df:coreutils cmd/cmark-gfm:cmark-gfm
    cmd/mpirun:openmpi-bin cmd/srun:slurm-client cmd/slurmctld:slurmctld cmd/slurmd:slurmd
    cmd/curl:curl cmd/promtool:prometheus cmd/victoria-metrics:victoria-metrics py/jsonschema:python3-jsonschema cmd/clang-format-14:clang-format-14 cmd/abidiff:abigail-tools'
full='cmd/clang:clang cmd/clang-tidy-14:clang-tidy-14 cmd/qemu-system-x86_64:qemu-system-x86 cmd/qemu-system-aarch64:qemu-system-arm cmd/aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu
    cmd/cpio:cpio cmd/debootstrap:debootstrap cmd/podman:podman cmd/runc:runc cmd/chromium:chromium'
bench='py/psutil:python3-psutil cmd/pidstat:sysstat cmd/atop:atop cmd/top:procps file//usr/bin/time:time cmd/resource_monitor:coop-computing-tools
    cmd/vmstat:procps cmd/prometheus-node-exporter:prometheus-node-exporter'
api='cmd/doxygen:doxygen'
release='cmd/dpkg-buildpackage:dpkg-dev cmd/dh:debhelper cmd/dh_python3:dh-python cmd/lintian:lintian cmd/mmdebstrap:mmdebstrap
    cmd/aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu cmd/git:git'
pictures='cmd/chromium:chromium cmd/tmux:tmux cmd/pngquant:pngquant'
# Packages that would run as a service: bench starts the programs that it measures by itself.
services='atop atopacct munge prometheus prometheus-node-exporter slurmctld slurmd victoria-metrics vmagent vmalert vmauth'
# clang's run time libraries carry its version in their package's name.
fuzz() {
    echo "rt/fuzzer:libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

present() {
    what=${1#*/}
    case $1 in
    cmd/*) command -v "$what" >/dev/null 2>&1 ;;
    file/*) [ -e "$what" ] ;;
    pc/*) pkg-config --exists "$what" 2>/dev/null ;;
    rt/*) [ -e "$(clang -print-runtime-dir)/libclang_rt.$what-$(uname -m).a" ] ;;
    pl/*) perl "-M$what" -e 1 2>/dev/null ;;
    py/*) /usr/bin/python3 -c "import $what" 2>/dev/null ;;
    esac
}

missing() {
    for entry in $wanted; do
        present "${entry%:*}" || printf '%s ' "${entry##*:}"
    done
}

install() {
    # Quiet unless it fails. Package lists may be absent (a fresh image) or old: then they are fetched, once.
    log=$(mktemp)
    for attempt in 1 2; do
        # shellcheck disable=SC2086  # the list is meant to be split
        if $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages >"$log" 2>&1 </dev/null; then
            rm -f "$log"
            return 0
        fi
        if [ "$attempt" = 1 ]; then
            $as_root apt-get update >>"$log" 2>&1 </dev/null || break
        fi
    done
    cat "$log" >&2
    rm -f "$log"
    return 1
}

wanted=
for purpose in "$@"; do
    case $purpose in
    build) wanted="$wanted $build" ;;
    demo) wanted="$wanted $demo" ;;
    test) wanted="$wanted $test" ;;
    full) wanted="$wanted $full" ;;
    bench) wanted="$wanted $bench" ;;
    pictures) wanted="$wanted $pictures" ;;
    api) wanted="$wanted $api" ;;
    release) wanted="$wanted $release" ;;
    fuzz) wanted="$wanted $(fuzz)" ;;
    *) echo "deps: $purpose: not one of build, demo, test, full, fuzz, bench, pictures, api, release" >&2; exit 2 ;;
    esac
done

packages=$(missing)
[ -n "$packages" ] || exit 0

as_root=
if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: please install what Debian calls: $packages" >&2
    exit 1
elif [ "$(id -u)" != 0 ]; then
    as_root=sudo
    [ -t 0 ] || as_root='sudo -n'
    if ! $as_root true 2>/dev/null; then
        echo "deps: missing packages; as root: apt-get install -y $packages" >&2
        exit 1
    fi
fi

# Services that come with a package, and were not there before, are neither running nor enabled afterwards.
strangers=
for name in $services; do
    [ -e "/etc/init.d/$name" ] || strangers="$strangers $name"
done

# systemd does not start what is masked. A mask in /run does not outlive the next boot, even if this script is killed.
hold_back() {
    for name in $strangers; do
        [ ! -d /run/systemd/system ] || $as_root systemctl "$1" --runtime "$name.service" >/dev/null 2>&1 || true
    done
}

retire() {
    hold_back unmask
    for name in $strangers; do
        [ -e "/etc/init.d/$name" ] || continue
        $as_root service "$name" stop >/dev/null 2>&1 || true
        $as_root update-rc.d "$name" disable >/dev/null 2>&1 || true
    done
}

echo "deps: installing $packages"
hold_back mask
install || { hold_back unmask; echo "deps: could not install: $packages" >&2; exit 1; }
retire
packages=$(missing)
[ -z "$packages" ] || { echo "deps: installed, but still not found: $packages" >&2; exit 1; }
