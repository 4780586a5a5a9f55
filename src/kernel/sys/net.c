/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/net/NAME. Packets of a VLAN, a tunnel, a bridge or a veth pair also go through hardware, so only hardware
 * counts. With a bond, a team or a synthetic interface with a fast path, only the master counts, not its members.
 * recorder/collectors/host/net_paths.c decides if there is no hardware.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/sys/sysfs.h"

#define LOOPBACK 772u /* ARPHRD_LOOPBACK */

#define KIND_MAX 32u

/* DEVTYPE of the uevent: "bond", "vlan"; "" if it has none. */
static void read_devtype(int dir, const char *path, char ret[KIND_MAX])
{
    char text[512];
    ssize_t n = sys_text(dir, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    *ret = 0;
    while (scan_line(&rest, &line)) {
        if (span_starts(line, "DEVTYPE=") && line.len - 8 < KIND_MAX) {
            memcpy(ret, line.at + 8, line.len - 8);
            ret[line.len - 8] = 0;
        }
    }
}

static bool lower(void *any, const char *name, size_t len)
{
    *(bool *)any |= len > 6 && memcmp(name, "lower_", 6) == 0;
    return !*(bool *)any;
}

/* Is the interface a member whose master counts the same bytes? A port of a bridge or of a VRF is none: its master
 * is not counted itself. */
static bool is_member(int dir)
{
    char kind[KIND_MAX];
    if (!sys_exists(dir, "master"))
        return false;
    if (sys_exists(dir, "master/bonding") || sys_exists(dir, "master/device"))
        return true;
    read_devtype(dir, "master/uevent", kind);
    return strcmp(kind, "bond") == 0 || strcmp(kind, "team") == 0;
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

static bool is_tunnel(int dir, const char *kind)
{
    static const uint64_t types[] = {768, 769, 776, 778, 823}; /* ARPHRD_TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE */
    static const char *const kinds[] = {"wireguard", "vxlan", "geneve", "bareudp", "gtp"};
    uint64_t type = 0;
    char flags[32]; /* include/uapi/linux/if_tun.h: IFF_TUN is 1 */
    sys_number(dir, "type", &type);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (type == types[i])
            return true;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    }
    ssize_t n = sys_text(dir, "tun_flags", flags, sizeof(flags)); /* "0x5001" */
    return n > 0 && strchr("13579bdf", flags[n - 1]);
}

static bool is_loopback(int dir, const char *name)
{
    uint64_t type;
    return span_equal(span_str(name), "lo") || (sys_number(dir, "type", &type) == 0 && type == LOOPBACK);
}

static uint32_t read_number(int dir, const char *path)
{
    uint64_t v;
    return sys_number(dir, path, &v) == 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static enum sys_net_way way_of(int dir, bool elsewhere)
{
    bool over = false;
    char kind[KIND_MAX];
    sys_each(dir, ".", lower, &over);
    read_devtype(dir, "uevent", kind);
    if (over || sys_exists(dir, "bridge") || strcmp(kind, "vrf") == 0)
        return SYS_NET_NO_WAY;
    if (is_tunnel(dir, kind))
        return SYS_NET_TUNNEL;
    if (sys_exists(dir, "brport") || sys_exists(dir, "master/bridge"))
        return elsewhere ? SYS_NET_PORT : SYS_NET_NO_WAY;
    return elsewhere ? SYS_NET_ELSEWHERE : SYS_NET_OTHER;
}

static int open_net(int sys_fd, const char *name)
{
    char path[96];
    if (snprintf(path, sizeof(path), "class/net/%s", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int dir = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -errno : dir;
}

enum sys_net_way sys_net_way(int sys_fd, const char *name, uint32_t *ret_link)
{
    int dir = open_net(sys_fd, name);
    *ret_link = 0;
    if (dir < 0)
        return SYS_NET_NO_WAY;
    *ret_link = read_number(dir, "iflink");
    enum sys_net_way way =
        is_loopback(dir, name) ? SYS_NET_NO_WAY : way_of(dir, *ret_link && *ret_link != read_number(dir, "ifindex"));
    close(dir);
    return way;
}

int sys_net_read(int sys_fd, const char *name, struct sys_net *ret)
{
    char kind[KIND_MAX] = "";
    int dir = open_net(sys_fd, name);
    if (dir < 0)
        return dir;
    *ret = (struct sys_net){.index = read_number(dir, "ifindex"), .hardware = sys_exists(dir, "device")};
    bool master = sys_exists(dir, "bonding"), member = is_member(dir);
    if (!master && !ret->hardware && !member)
        read_devtype(dir, "uevent", kind);
    master |= strcmp(kind, "team") == 0;
    ret->own = (ret->hardware || master) && !member;
    ret->may_lead = !ret->hardware && !master && !member;
    close(dir);
    return 0;
}
