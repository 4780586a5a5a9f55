/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/net/NAME. What goes through a VLAN, a tunnel, a bridge or a veth pair goes through hardware as well, so hardware alone counts; and of a
 * bond, a team or a synthetic interface with a fast path the master, not its members. Where there is no hardware: collect/host_ways.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

static bool is_tunnel(int dir, uint64_t type)
{
    static const uint64_t types[] = {768, 769, 776, 778, 823}; /* ARPHRD_TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE */
    static const char *const devtypes[] = {"wireguard", "vxlan", "geneve", "bareudp", "gtp"};
    char flags[32]; /* include/uapi/linux/if_tun.h: IFF_TUN is 1 */
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (type == types[i])
            return true;
    }
    for (size_t i = 0; i < sizeof(devtypes) / sizeof(*devtypes); i++) {
        if (has_type(dir, "uevent", devtypes[i]))
            return true;
    }
    ssize_t n = sys_text(dir, "tun_flags", flags, sizeof(flags)); /* "0x5001" */
    return n > 0 && strchr("13579bdf", flags[n - 1]);
}

static enum sys_net_way way_of(int dir, const struct sys_net *n, uint64_t type)
{
    bool over = false, elsewhere = n->link && n->link != n->index;
    sys_each(dir, ".", lower, &over);
    if (over || sys_exists(dir, "bridge") || has_type(dir, "uevent", "vrf"))
        return SYS_NET_NO_WAY;
    if (is_tunnel(dir, type))
        return SYS_NET_TUNNEL;
    if (sys_exists(dir, "brport") || sys_exists(dir, "master/bridge"))
        return elsewhere ? SYS_NET_PORT : SYS_NET_NO_WAY;
    return elsewhere ? SYS_NET_ELSEWHERE : SYS_NET_OTHER;
}

int sys_net_read(int sys_fd, const char *name, struct sys_net *ret)
{
    char path[96];
    uint64_t v = 0, type = 0;
    if (snprintf(path, sizeof(path), "class/net/%s", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int dir = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    *ret = (struct sys_net){.hardware = sys_exists(dir, "device")};
    if (sys_number(dir, "ifindex", &v) == 0 && v <= UINT32_MAX)
        ret->index = (uint32_t)v;
    if (sys_number(dir, "iflink", &v) == 0 && v <= UINT32_MAX)
        ret->link = (uint32_t)v;
    bool master = sys_exists(dir, "bonding") || has_type(dir, "uevent", "team");
    bool member = is_member(dir);
    ret->own = (ret->hardware || master) && !member;
    sys_number(dir, "type", &type);
    bool loopback = span_equal(span_str(name), "lo") || type == LOOPBACK;
    ret->way = ret->hardware || master || member || loopback ? SYS_NET_NO_WAY : way_of(dir, ret, type);
    close(dir);
    return 0;
}
