#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of containers in those of podman and runc: with the engine's own default profile, capabilities, mounts
# and control groups.
#
#   tools/podman-check.sh [BARO [PYTEST OPTION...]]    needs root; status 77 with the reason if it is not possible here
#
# The image is the root of this machine: its links, empty folders, and /usr and /etc as read-only volumes. (Debian's
# crun refuses a machine with both versions of control groups, so it is runc.)
set -eu
cd "$(dirname -- "$0")/.."
baro=$(realpath "${1-build/baro}")
[ $# -lt 1 ] || shift
image=localhost/baro-host-root:latest

skip()
{
    echo "podman-check: skipped: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || skip 'needs root'
for program in podman runc; do
    command -v "$program" >/dev/null 2>&1 || skip "no $program (tools/deps.sh full installs it)"
done
root=$(mktemp -d)
podman='podman --runtime runc --cgroup-manager=cgroupfs'
trap 'rm -rf "$root"; $podman rmi -f "$image" >/dev/null 2>&1 || :' EXIT
for link in /bin /sbin /lib*; do
    [ ! -L "$link" ] || ln -s "$(readlink "$link")" "$root$link"
done
for folder in etc usr proc sys dev tmp run root home var/tmp; do
    mkdir -p "$root/$folder"
done
chmod 1777 "$root/tmp" "$root/var/tmp"
# shellcheck disable=SC2086 # a list
tar -C "$root" -c . | $podman import -q - "$image" >/dev/null 2>&1 || skip 'podman can not make an image'
engine="$podman run --rm --env-host --network none -v=/usr:/usr:ro -v=/etc:/etc:ro --ulimit nofile=1024:1024 --ulimit nproc=4096:4096"
$engine "$image" true || skip 'podman can not run a container'
BARO="$baro" BARO_ENGINE=$engine /usr/bin/python3 -m pytest -q -ra -p no:cacheprovider "$@" \
    tests/e2e/test_places.py tests/e2e/test_container.py tests/e2e/test_truth.py
