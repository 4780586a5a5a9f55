/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces: which bytes count, while they come, go and get other masters. Values are typed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host_tree.h"

#define LINE(name, rx, tx) name ": " rx " 1 0 0 0 0 0 0 " tx " 1 0 0 0 0 0 0\n"

static void bytes_of_interfaces_count_once(void **state)
{
    put("sys/class/net/lo/type", "772\n");
    put("sys/class/net/eth0/device/x", "");
    put("sys/class/net/eth0/ifindex", "2\n");
    put("sys/class/net/eth1/device/x", "");
    put("sys/class/net/eth1/master/bonding/mode", "");
    put("sys/class/net/eth2/device/x", "");
    put("sys/class/net/eth2/master/bridge/x", "");
    put("sys/class/net/bond0/bonding/mode", "");
    put("sys/class/net/br0/bridge/x", "");
    put("sys/class/net/eth0.7/lower_eth0/x", "");
    put("sys/class/net/veth1/iflink", "9\n");
    put("sys/class/net/usb0/device/x", "");
    put("proc/net/dev", LINE("lo", "1", "1") LINE("eth0", "10", "20") LINE("eth1", "100", "200")
                            LINE("eth2", "1000", "2000") LINE("bond0", "10000", "20000") LINE("br0", "500000", "500000")
                                LINE("eth0.7", "500000", "500000") LINE("veth1", "500000", "500000"));
    machine_open(false);
    is(HOST_net_receive, 11010); /* eth0, eth2 (a port of a bridge) and the bond */
    is(HOST_net_transmit, 22020);
    is(HOST_net_receive_packets, 3);
    assert_true(named(BARO_KIND_NET, "eth2")->value[NET_counted] == 1 &&
                named(BARO_KIND_NET, "eth1")->value[NET_counted] == 0);
    assert_int_equal(named(BARO_KIND_NET, "br0")->value[NET_receive], 500000);
    /* One that appears may have counted elsewhere before: it counts from here on. */
    put("proc/net/dev", LINE("lo", "1", "1") LINE("eth0", "10", "20") LINE("eth2", "1000", "2000")
                            LINE("bond0", "10000", "20000") LINE("usb0", "777", "777"));
    host_tree_read();
    is(HOST_net_receive, 11010);
    put("proc/net/dev", LINE("lo", "1", "1") LINE("eth0", "11", "20") LINE("usb0", "780", "777"));
    host_tree_read();
    is(HOST_net_receive, 11014);
    uint32_t first = named(BARO_KIND_NET, "eth0")->id;
    put("sys/class/net/eth0/ifindex", "12\n"); /* made anew under its name */
    put("proc/net/dev", LINE("lo", "1", "1") LINE("eth0", "5", "5") LINE("usb0", "780", "777"));
    host_tree_read();
    is(HOST_net_receive, 11014);
    assert_true(named(BARO_KIND_NET, "eth0")->id > first);
    assert_int_equal(m.sample.entities[BARO_KIND_NET].n, 3);
}

/* Without any of them coming or going. */
static void a_bond_takes_existing_interfaces(void **state)
{
    char whole[128];
    put("sys/class/net/eth0/device/x", "");
    put("sys/class/net/bond0/bonding/mode", "");
    put("proc/net/dev", LINE("eth0", "10", "20") LINE("bond0", "0", "0"));
    machine_open(false);
    is(HOST_net_receive, 10);
    put("sys/class/net/eth0/master/bonding/mode", "");
    m.now_ns += NS_PER_SEC;
    put("proc/net/dev", LINE("eth0", "110", "20") LINE("bond0", "100", "0"));
    host_tree_read();
    is(HOST_net_receive, 110);
    assert_int_equal(named(BARO_KIND_NET, "eth0")->value[NET_counted], 0);
    snprintf(whole, sizeof(whole), "rm -r %s/sys/class/net/eth0/master", m.dir);
    assert_int_equal(system(whole), 0);
    m.now_ns += NS_PER_SEC;
    put("proc/net/dev", LINE("eth0", "117", "20") LINE("bond0", "100", "0"));
    host_tree_read();
    is(HOST_net_receive, 117);
    assert_int_equal(named(BARO_KIND_NET, "eth0")->value[NET_counted], 1);
}

/* In a container, too. */
static void a_bond_with_a_route(void **state)
{
    put("sys/class/net/eth0/iflink", "9\n");
    put("sys/class/net/eth0/master/bonding/mode", "");
    put("sys/class/net/bond0/bonding/mode", "");
    put("proc/net/dev", LINE("eth0", "10", "20") LINE("bond0", "10", "20"));
    machine_open(false);
    is(HOST_net_receive, 10);
}

/* In a container the interface with the route is a veth. */
static void a_containers_only_interface_counts(void **state)
{
    put("sys/class/net/lo/type", "772\n");
    put("sys/class/net/eth0/iflink", "9\n");
    put("proc/net/dev", LINE("lo", "1", "1") LINE("eth0", "10", "20"));
    machine_open(false);
    is(HOST_net_receive, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(bytes_of_interfaces_count_once),
        HOST_TEST(a_bond_takes_existing_interfaces),
        HOST_TEST(a_bond_with_a_route),
        HOST_TEST(a_containers_only_interface_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
