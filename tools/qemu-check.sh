#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Boots Debian 12's own kernel (6.1, control groups v2 alone) in QEMU, with baro in an initramfs, and checks what it
# records there.
#
#   tools/qemu-check.sh [BARO]              checks; status 77 with the reason if it is not possible here
#   tools/qemu-check.sh --capture FOLDER    captures that machine as a fixture instead of checking
#
# Kernel and busybox are unpacked from their packages, which are downloaded once and kept in build-qemu; nothing is
# installed. No KVM is needed.
set -eu
cd "$(dirname -- "$0")/.."
capture=
if [ "${1-}" = --capture ]; then
    capture=$2
    shift 2
fi
baro=${1-build/baro}
keep=build-qemu
seconds=${QEMU_CHECK_SECONDS:-900} # then it gives up: under load it takes long, and that is no failure of baro

skip()
{
    echo "qemu-check: skipped: $*"
    exit 77
}

command -v qemu-system-x86_64 >/dev/null 2>&1 || skip 'no qemu-system-x86_64 (tools/deps.sh full installs it)'
[ "$(uname -m)" = x86_64 ] || skip 'the binary is not for x86_64'
! ldd "$baro" >/dev/null 2>&1 || skip "$baro is not linked statically"
if [ ! -e "$keep/vmlinuz" ] || [ ! -e "$keep/loop.ko" ] || [ ! -x "$keep/busybox" ]; then
    rm -rf "$keep/new"
    command -v apt-get >/dev/null 2>&1 || skip 'kernel and busybox are Debian packages, and there is no apt-get'
    mkdir -p "$keep/new"
    kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
    [ -n "$kernel" ] || skip 'no package linux-image-amd64 (apt-get update?)'
    (cd "$keep/new" && apt-get download "$kernel" busybox-static >log 2>&1) || skip "can't download $kernel and busybox-static"
    for package in "$keep"/new/*.deb; do
        dpkg-deb -x "$package" "$keep/new/root"
    done
    mv "$keep"/new/root/boot/vmlinuz-* "$keep/vmlinuz"
    mv "$(find "$keep/new/root" -name loop.ko)" "$keep/loop.ko"
    mv "$(find "$keep/new/root" -path '*/bin/busybox' | head -n 1)" "$keep/busybox"
    rm -rf "$keep/new"
fi

work=$(mktemp -d)
trap '[ -z "${QEMU_CHECK_KEEP-}" ] || cp "$work/console" "$QEMU_CHECK_KEEP"; rm -rf "$work"' EXIT
mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/tmp" "$work/root/lib"
cp "$keep/busybox" "$work/root/bin/busybox"
# baro, the programs that read tapes, and the libraries that they link, each at the same path as here.
/usr/bin/python3 tests/e2e/programs.py "$baro" "$work/root/bin"
for program in "$work"/root/bin/baro-*; do
    ldd "$program" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p'
done | sort -u | while read -r library; do
    case $library in
    */libbaro.so.0) ;; # is next to them
    *) mkdir -p "$work/root$(dirname "$library")" && cp "$library" "$work/root$library" ;;
    esac
done
cp tools/capture-machine "$work/root/bin/"
cp tools/qemu-verdicts "$keep/loop.ko" "$work/root/lib/"
echo 'int main(void) { return 0; }' | "${CC:-cc}" -x c -static -o "$work/probe" - 2>/dev/null || skip 'no C compiler that links statically'
"${CC:-cc}" -D_GNU_SOURCE -O1 -static -o "$work/root/bin/qemu-job" tools/qemu_job.c
for name in $("$keep/busybox" --list); do
    [ "$name" = busybox ] || ln -sf busybox "$work/root/bin/$name"
done

# The kernel knows the job's usage and limits; the rows below are compared outside of the guest.
cat >"$work/root/init" <<'END'
#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 none /sys/fs/cgroup
stty -F /dev/ttyS0 -opost
say() { echo "@@ $*" >/dev/ttyS0; }
cd /sys/fs/cgroup
echo '+cpu +memory +pids +io +cpuset' >cgroup.subtree_control
mkdir -p job/inner
echo '+cpu +memory +pids +io +cpuset' >job/cgroup.subtree_control
echo 100000000 >job/memory.max
echo '50000 100000' >job/inner/cpu.max
echo 60 >job/inner/pids.max
mkdir handed other daemon nested killed bounded
qemu-job delegate handed
cd /tmp
ip link set lo up
dd if=/dev/zero of=/tmp/work bs=1k count=2000 2>/dev/null
if grep -q capture /proc/cmdline; then
    sh -c 'echo $$ >/sys/fs/cgroup/job/inner/cgroup.procs; n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; exec capture-machine /tmp/machine' 2>/tmp/err
    say "capture $? $(cat /tmp/err)"
    say begin; tar -C /tmp -cz machine | base64 >/dev/ttyS0; say end
else
    sh -c 'echo $$ >/sys/fs/cgroup/job/inner/cgroup.procs; exec baro run -q -o run.baro -- sh -c "n=0; while [ \$n -lt 200000 ]; do n=\$((n + 1)); done; sleep 0.1; ls / >/dev/null; exit 3"'
    say "run $?"
    baro record --host -q -o host.baro --for 1500ms
    say "record $?"
    say "summary $(baro summary --json run.baro | tr -d '\n')"
    say "usage $(sed -n 's/usage_usec //p' /sys/fs/cgroup/job/inner/cpu.stat)"
    say "memory $(sed -n 's/MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
    baro export --format jsonl --entity host host.baro | while read -r line; do say "host $line"; done
    baro export --format jsonl --entity cgroup run.baro | tail -n 2 | while read -r line; do say "cgroup $line"; done
    baro summary run.baro >text 2>&1
    say "text $?"
    sh -c 'echo $$ >/sys/fs/cgroup/job/inner/cgroup.procs; exec baro doctor' >doctor 2>&1
    say "doctor $?"
    # A group of its own with controllers: what the command sees, and what is left a little later. Then in a group that
    # is not delegated, and in one with other processes.
    own() {
        sh -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs; $4 exec baro run -q --force -o own.baro $3 -- sh -c 'sed -n s/^0:://p /proc/self/cgroup; cat /sys/fs/cgroup/$1/cgroup.subtree_control; dd if=/dev/zero of=/dev/null bs=20M count=4 2>/dev/null; sleep 0.3; exit 5'" >own.text 2>&1
        say "$2-run $? $(tr '\n' ' ' <own.text)"
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ls -d /sys/fs/cgroup/$1/baro-* >/dev/null 2>&1 || break; sleep 0.1; done
        say "$2-left $(cd /sys/fs/cgroup/$1; echo $(ls -d baro-* 2>/dev/null) $(cat cgroup.subtree_control))"
        say "$2-summary $(baro summary --json own.baro | tr -d '\n')"
        say "$2-group $(baro export --format jsonl --entity cgroup own.baro | grep /baro- | tail -n 1)"
    }
    own handed auto
    own other none
    own other forced '--cgroup own'
    own handed crowded '' 'sleep 100 & sleep 0.1;'
    # A limit of memory: all processes of the command's group end at once, also the one that left the session.
    sh -c "echo \$\$ >/sys/fs/cgroup/bounded/cgroup.procs; exec baro run -q --force -o limit.baro --limit memory=20MB -- sh -c '(setsid sleep 1000 &); dd if=/dev/zero of=/dev/null bs=50M count=4 2>/dev/null; sleep 1000'" >limit.text 2>&1
    say "limit-run $? $(tr '\n' ' ' <limit.text)"
    say "limit-left $(cat /sys/fs/cgroup/bounded/cgroup.procs | wc -l) $(ls -d /sys/fs/cgroup/bounded/baro-* 2>/dev/null)"
    say "limit-summary $(baro summary --json limit.baro | tr -d '\n')"
    # A process that outlives the command keeps its group, not the controllers, except if it made a group with
    # controllers below. If wrapper and recorder are killed the controllers stay enabled.
    state() { say "$1 $(cd /sys/fs/cgroup/$2; for d in baro-*; do case $d in *-self) printf 'leaf ';; baro-\*) ;; *) printf 'group ';; esac; done; cat cgroup.subtree_control)"; }
    within() { sh -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs; exec baro run -q --force -o own.baro --cgroup own -- sh -c '$2'" >/dev/null 2>&1; }
    outlive='sleep 1000 & echo $! >/tmp/outlived; sleep 0.5; exit 5'
    within daemon "$outlive"
    sleep 0.5
    state daemon-left daemon
    kill -9 $(cat /tmp/outlived)
    sleep 0.2
    within daemon true
    sleep 0.5
    state daemon-next daemon
    within nested 'cd /sys/fs/cgroup/$(sed -n s/^0:://p /proc/self/cgroup); mkdir in; echo 0 >in/cgroup.procs; echo +memory >cgroup.subtree_control; '"$outlive"
    sleep 0.5
    state nested-left nested
    rm /tmp/outlived
    within killed 'echo $$ >/tmp/outlived; exec sleep 1000' &
    while [ ! -s /tmp/outlived ]; do sleep 0.1; done
    kill -9 $(cat /sys/fs/cgroup/killed/baro-*-self/cgroup.procs) $(cat /tmp/outlived)
    sleep 1
    state killed-left killed
    . /lib/qemu-verdicts
    while IFS= read -r line; do say "seen $line"; done <text
    while IFS= read -r line; do say "doctor-text $line"; done <doctor
fi
say done
poweroff -f
END
chmod +x "$work/root/init"
(cd "$work/root" && find . | "$OLDPWD/$keep/busybox" cpio -o -H newc >"$work/initrd" 2>/dev/null)

timeout "$seconds" qemu-system-x86_64 -accel tcg -cpu max -m 512 -smp 2 -display none -monitor none -serial stdio -no-reboot -nic none -kernel "$keep/vmlinuz" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 no_timer_check ${capture:+capture}" </dev/null >"$work/console" 2>&1 || { tail -n 30 "$work/console"; echo 'qemu-check: the guest did not finish'; exit 1; }
tr -d '\r' <"$work/console" >"$work/said"

if [ -n "$capture" ]; then
    grep "^@@ capture 0" "$work/said" || { cat "$work/said"; exit 1; }
    mkdir -p "$work/unpacked"
    sed -n '/^@@ begin/,/^@@ end/p' "$work/said" | grep -v '^@@' | base64 -d | tar -C "$work/unpacked" -xz
    mkdir -p "$capture"
    cp -a "$work/unpacked/machine/." "$capture/"
    exit 0
fi
/usr/bin/python3 tools/qemu_check.py "$work/said"
