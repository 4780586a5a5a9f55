/* SPDX-License-Identifier: Apache-2.0 */
/* Machines without network hardware: which interfaces have the routes, and are counted. Trees made by hand after
 * /sys/class/net of such machines. */

#define UNIT_EACH machine_new, machine_done
#include "unit.h"
#include "cut.h"
#include "host_tree.h"
#include "kernel/proc/machine.h"

/* ---- routes ---- */

#define V4(name, to, mask)                                                                                             \
    name "\t" to "\t00000000\t0001\t0\t0\t0\t" mask                                                                    \
         "\t0\t0\t0                                                          \n"
#define V6(name, to, length, flags)                                                                                    \
    to " " length                                                                                                      \
       " 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 " flags       \
       "     " name "\n"

static void check_routes(struct span cut)
{
    static const struct proc_route rows[] = {
        {{"eth0", 4}, true, true}, {{"eth0", 4}, false, true}, {{"veth1", 5}, false, false}};
    struct proc_route r;
    for (size_t n = 0; proc_route_next(&cut, &r); n++)
        assert_true(n < 3 && r.name.len == rows[n].name.len && memcmp(r.name.at, rows[n].name.at, r.name.len) == 0 &&
                    r.all == rows[n].all && r.network == rows[n].network);
}

static void check_routes6(struct span cut)
{
    static const struct proc_route rows[] = {{{"eth0", 4}, false, true},
                                             {{"eth0", 4}, false, false},
                                             {{"eth0", 4}, false, false},
                                             {{"eth0", 4}, true, true}};
    struct proc_route r;
    for (size_t n = 0; proc_route6_next(&cut, &r); n++)
        assert_true(n < 4 && span_equal(r.name, "eth0") && r.all == rows[n].all && r.network == rows[n].network);
}

TEST(routes)
{
    struct proc_route r;
    struct span four =
        TEXT("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   \n"
             "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0   \n" V4(
                 "eth0", "000200C0",
                 "00FFFFFF") "*\t0000000A\t00000000\t0200\t0\t0\t0\t000000FF\t0\t0\t0\n" V4("veth1", "02F4000A",
                                                                                            "FFFFFFFF"));
    struct span six = TEXT(V6("eth0", "fd000000000000000000000000000000", "40", "00000001")
                               V6("eth0", "fe800000000000000000000000000000", "40", "00000001")
                                   V6("lo", "00000000000000000000000000000000", "00", "00200200")
                                       V6("eth0", "ff000000000000000000000000000000", "08", "00000001")
                                           V6("eth0", "00000000000000000000000000000000", "00", "00000003"));
    each_cut(four, check_routes);
    each_cut(six, check_routes6);
    size_t n4 = 0, n6 = 0;
    while (proc_route_next(&four, &r))
        n4++;
    while (proc_route6_next(&six, &r))
        n6++;
    assert_true(n4 == 3 && n6 == 4);
    struct span bad = TEXT("eth0\t00000000\n\neth0 00000000000000000 0 0003 0 0 0 0 0\neth0 0 0 3x 0 0 0 0\n"),
                none = TEXT("00 00 00\n\n"
                            "00000000000000000000000000000000 00 0 00 0 0 0 0 00000001    \n");
    assert_false(proc_route_next(&bad, &r));
    assert_false(proc_route6_next(&none, &r));
}

/* ---- machines ---- */

struct interface {
    const char *name;
    unsigned index, link;
    const char *files[3]; /* NULL: none; below its folder */
    bool counted;
};

#define SYS "sys/class/net/"
#define TAP                                                                                                            \
    "tun_flags\0"                                                                                                      \
    "0x5002\n"
#define TUN                                                                                                            \
    "tun_flags\0"                                                                                                      \
    "0x5001\n"
#define KIND(what)                                                                                                     \
    "uevent\0"                                                                                                         \
    "DEVTYPE=" what "\n"
#define TYPE(n) "type\0" n "\n"
#define PORT "brport/x\0"
#define BRIDGE "bridge/x\0"
#define HARDWARE "device/x\0"

static void put_interface(const struct interface *i)
{
    char path[128], text[32];
    snprintf(path, sizeof(path), SYS "%s/ifindex", i->name);
    snprintf(text, sizeof(text), "%u\n", i->index);
    put(path, text);
    snprintf(path, sizeof(path), SYS "%s/iflink", i->name);
    snprintf(text, sizeof(text), "%u\n", i->link);
    put(path, text);
    for (int k = 0; k < 3 && i->files[k]; k++) {
        snprintf(path, sizeof(path), SYS "%s/%s", i->name, i->files[k]);
        put(path, i->files[k] + strlen(i->files[k]) + 1);
    }
}

/* Interface number n has sent and received 10^n bytes, so that a sum says which are in it. */
static void machine_of(const struct interface *all, size_t n, const char *four, const char *six)
{
    char text[2048] = "    lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
    unsigned long long bytes = 1;
    machine_again();
    put(SYS "lo/type", "772\n");
    for (size_t i = 0; i < n; i++, bytes *= 10) {
        put_interface(&all[i]);
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%6s: %llu 1 0 0 0 0 0 0 %llu 1 0 0 0 0 0 0\n", all[i].name, bytes,
                 bytes);
    }
    put("proc/net/dev", text);
    if (four)
        put("proc/net/route", four);
    if (six)
        put("proc/net/ipv6_route", six);
    machine_open(false);
}

static void check(const struct interface *all, size_t n, const char *four, const char *six)
{
    uint64_t sum = 0, bytes = 1;
    machine_of(all, n, four, six);
    for (size_t i = 0; i < n; i++, bytes *= 10) {
        const struct baro_entity *e = named(BARO_KIND_NET, all[i].name);
        assert_non_null(e);
        if (e->value[NET_counted] != all[i].counted)
            print_message("%s: counted %d\n", all[i].name, !all[i].counted);
        assert_true(!e->absent[NET_counted] && e->value[NET_counted] == all[i].counted);
        sum += all[i].counted ? bytes : 0;
    }
    is(HOST_net_receive, sum);
    is(HOST_net_transmit, sum);
}
#define CHECK(rows, four, six) check(rows, sizeof(rows) / sizeof(*(rows)), four, six)

TEST(a_host_with_containers)
{
    static const struct interface rows[] = {
        {"eth0", 2, 2, {HARDWARE}, true}, {"docker0", 3, 3, {BRIDGE, KIND("bridge")}, false},
        {"veth1a", 5, 4, {PORT}, false},  {"veth2b", 7, 6, {PORT}, false},
        {"cali1", 9, 4, {NULL}, false},   {"wg0", 10, 10, {KIND("wireguard")}, false},
        {"tap0", 11, 11, {TAP}, false},   {"eth0.7", 12, 2, {"lower_eth0/x\0", KIND("vlan")}, false}};
    CHECK(rows, V4("cali1", "0000000A", "000000FF"), NULL); /* hardware is counted, whatever the routes are */
}

TEST(a_container)
{
    static const struct interface one[] = {{"eth0", 2, 9, {NULL}, true}};
    static const struct interface two[] = {{"eth0", 2, 9, {NULL}, true},
                                           {"eth1", 3, 12, {NULL}, true},
                                           {"dummy0", 4, 4, {NULL}, false},
                                           {"ipip0", 5, 0, {TYPE("768")}, false}};
    CHECK(one, NULL, NULL);
    CHECK(two, NULL, NULL); /* /proc/net is not there */
    CHECK(two, V4("eth0", "00000000", "00000000") V4("eth0", "000011AC", "0000FFFF") V4("eth1", "000012AC", "0000FFFF"),
          NULL);
}

/* A container in which containers run: their veth pairs lead only to them. */
TEST(a_container_with_containers)
{
    static const struct interface docker[] = {{"eth0", 2, 9, {NULL}, true},
                                              {"docker0", 3, 3, {BRIDGE}, false},
                                              {"veth1", 5, 4, {PORT}, false},
                                              {"veth2", 7, 6, {PORT}, false}};
    static const struct interface kind[] = {{"eth0", 11, 12, {NULL}, true},
                                            {"veth1", 3, 2, {NULL}, false},
                                            {"veth2", 4, 2, {NULL}, false},
                                            {"veth3", 5, 2, {NULL}, false}};
    /* Its other end has the number outside that veth3 has here, and veth3's peer in its container has the number of
     * eth0. */
    static const struct interface same_numbers[] = {
        {"eth0", 2, 5, {NULL}, true}, {"veth1", 3, 2, {NULL}, false}, {"veth3", 5, 2, {NULL}, false}};
    static const char four[] = V4("eth0", "00000000", "00000000") V4("veth1", "02F4000A", "FFFFFFFF")
        V4("veth2", "03F4000A", "FFFFFFFF") V4("veth3", "04F4000A", "FFFFFFFF") V4("eth0", "000012AC", "0000FFFF");
    static const char six[] = V6("veth1", "fd00000000000000000000000000000a", "80", "00000005")
        V6("veth1", "fe800000000000000000000000000000", "40", "00000001")
            V6("veth2", "ff000000000000000000000000000000", "08", "00000001")
                V6("eth0", "00000000000000000000000000000000", "00", "00000003");
    CHECK(docker, V4("eth0", "00000000", "00000000"), NULL);
    CHECK(docker, NULL, NULL);
    CHECK(kind, four, NULL);
    CHECK(kind, NULL, six);
    CHECK(same_numbers, four, NULL);
}

/* Both ends are here: no traffic leaves the machine, whatever is on top of them. */
TEST(a_pair_with_both_ends)
{
    static const struct interface rows[] = {{"v0", 2, 3, {NULL}, false},
                                            {"v1", 3, 2, {PORT}, false},
                                            {"br0", 4, 4, {BRIDGE}, false},
                                            {"vx0", 5, 5, {"lower_v0/x\0", KIND("vxlan")}, false}};
    static const struct interface with_a_way_out[] = {{"v0", 2, 3, {NULL}, false},
                                                      {"v1", 3, 2, {NULL}, false},
                                                      {"eth0", 9, 20, {NULL}, true},
                                                      {"vx0", 5, 5, {KIND("vxlan")}, false},
                                                      {"tap0", 6, 6, {TAP}, false}};
    CHECK(rows, NULL, NULL);
    CHECK(rows, V4("v0", "0000000A", "000000FF"), NULL);
    CHECK(with_a_way_out, NULL, NULL);
    CHECK(with_a_way_out,
          V4("eth0", "00000000", "00000000") V4("tap0", "0000000A", "000000FF") V4("vx0", "0000010A", "00FFFFFF"),
          NULL);
}

/* A virtual machine in a container: its tap and the container's veth are ports of one bridge. */
TEST(a_guest)
{
    static const struct interface bridged[] = {{"nic", 2, 9, {PORT}, true},
                                               {"br0", 3, 3, {BRIDGE}, false},
                                               {"tap0", 4, 4, {PORT, TAP}, false},
                                               {"dummy0", 5, 5, {NULL}, false}};
    static const struct interface routed[] = {{"eth0", 2, 9, {NULL}, true}, {"tap0", 4, 4, {TAP}, false}};
    CHECK(bridged, V4("br0", "00000000", "00000000"), NULL);
    CHECK(routed, V4("eth0", "00000000", "00000000") V4("tap0", "0000000A", "000000FF"), NULL);
}

/* A container without privileges reaches the network by a tap of slirp4netns or pasta; a namespace for a VPN by the
 * tunnel. */
TEST(neither_hardware_nor_pair)
{
    static const struct interface tap[] = {{"tap0", 2, 2, {TAP}, true}};
    static const struct interface tap_and_vpn[] = {{"tap0", 2, 2, {TAP}, true},
                                                   {"tun0", 3, 3, {TUN, TYPE("65534")}, false}};
    static const struct interface vpn[] = {{"wg0", 2, 2, {KIND("wireguard"), TYPE("65534")}, true}};
    static const struct interface nothing[] = {
        {"docker0", 3, 3, {BRIDGE}, false}, {"veth1", 5, 4, {PORT}, false}, {"veth2", 7, 6, {PORT}, false}};
    CHECK(tap, NULL, NULL);
    CHECK(tap_and_vpn, V4("tun0", "00000000", "00000000") V4("tap0", "0002000A", "00FFFFFF"), NULL);
    CHECK(vpn, NULL, NULL);
    CHECK(nothing, NULL, NULL);
}

TEST(a_bond_and_a_vlan)
{
    static const struct interface rows[] = {{"eth0", 2, 9, {"master/bonding/mode\0"}, false},
                                            {"eth1", 3, 11, {"master/bonding/mode\0"}, false},
                                            {"bond0", 4, 4, {"bonding/mode\0"}, true},
                                            {"bond0.7", 5, 4, {"lower_bond0/x\0", KIND("vlan")}, false}};
    static const struct interface one_end_in_a_bond[] = {{"v0", 2, 3, {NULL}, false},
                                                         {"v1", 3, 2, {"master/bonding/mode\0"}, false},
                                                         {"bond0", 4, 4, {"bonding/mode\0"}, true}};
    static const struct interface macvlan[] = {{"eth0", 7, 2, {KIND("macvlan")}, true}};
    CHECK(rows, NULL, NULL);
    CHECK(one_end_in_a_bond, NULL, NULL);
    CHECK(macvlan, NULL, NULL);
}

/* A second network that the container is connected to while it runs: at first it has no route. */
TEST(a_route_that_comes_later)
{
    static const struct interface rows[] = {{"eth0", 2, 9, {NULL}, true}, {"eth1", 3, 12, {NULL}, false}};
    static const char text[] = "eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\neth1: 110 1 0 0 0 0 0 0 110 1 0 0 0 0 0 0\n";
    machine_of(rows, 2, V4("eth0", "00000000", "00000000"), NULL);
    is(HOST_net_receive, 1);
    put("proc/net/route", V4("eth0", "00000000", "00000000") V4("eth1", "0000000A", "000000FF"));
    m.now_ns += 20 * NS_PER_SEC;
    put("proc/net/dev", text);
    host_tree_read();
    is(HOST_net_receive, 101); /* from its last value on */
    assert_int_equal(named(BARO_KIND_NET, "eth1")->value[NET_counted], 1);
}
