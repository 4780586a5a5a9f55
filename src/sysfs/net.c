/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/net/NAME. What goes through a VLAN, a tunnel, a bridge or a veth pair goes through hardware as well, so hardware alone counts; and of a
 * bond, a team or a synthetic interface with a fast path the master, not its members.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "sysfs/sysfs.h"

#define LOOPBACK 772u /* ARPHRD_LOOPBACK */

static bool has_type(int dir, const char *path, const char *type)
{
    char text[512];
    ssize_t n = sys_text(dir, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        if (span_starts(line, "DEVTYPE=") && span_equal(span_of(line.at + 8, line.len - 8), type))
            return true;
    }
    return false;
}

static bool lower(void *any, const char *name, size_t len)
{
    *(bool *)any |= len > 6 && memcmp(name, "lower_", 6) == 0;
    return !*(bool *)any;
}

/* A member whose master tells of the same bytes. The master of a bridge's port, or of a VRF's, does not count itself. */
static bool is_member(int dir)
{
    return sys_exists(dir, "master") &&
           (sys_exists(dir, "master/bonding") || sys_exists(dir, "master/device") || has_type(dir, "master/uevent", "bond") ||
            has_type(dir, "master/uevent", "team"));
}

uint64_t sys_net_master(int sys_fd, const char *name)
{
    char path[96], target[256];
    if (snprintf(path, sizeof(path), "class/net/%s/master", name) >= (int)sizeof(path))
        return 0;
    ssize_t n = readlinkat(sys_fd, path, target, sizeof(target));
    uint64_t sum = n >= 0 || errno == EINVAL; /* a captured tree may have a folder there */
    for (ssize_t i = 0; i < n; i++)
        sum = sum * 31 + (unsigned char)target[i];
    return sum;
}

int sys_net_read(int sys_fd, const char *name, struct sys_net *ret)
{
    char path[96];
    uint64_t v = 0;
    bool over = false;
    if (snprintf(path, sizeof(path), "class/net/%s", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int dir = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    *ret = (struct sys_net){.hardware = sys_exists(dir, "device")};
    if (sys_number(dir, "ifindex", &v) == 0 && v <= UINT32_MAX)
        ret->index = (uint32_t)v;
    bool master = sys_exists(dir, "bonding") || has_type(dir, "uevent", "team");
    bool member = is_member(dir);
    ret->own = (ret->hardware || master) && !member;
    bool loopback = span_equal(span_str(name), "lo") || (sys_number(dir, "type", &v) == 0 && v == LOOPBACK);
    sys_each(dir, ".", lower, &over);
    ret->way_out = !ret->hardware && !master && !member && !loopback && !over && !sys_exists(dir, "bridge") && !has_type(dir, "uevent", "vrf");
    close(dir);
    return 0;
}
