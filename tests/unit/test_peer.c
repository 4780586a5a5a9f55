/* SPDX-License-Identifier: Apache-2.0 */
/* Who a client of baro serve is. */
#include <unistd.h>

#include <arpa/inet.h>
#include "unit.h"
#include <sys/socket.h>

#include "programs/baro-serve/peer.h"

TEST(a_unix_socket_has_a_user)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct peer p = peer_of(ends[0]), same = peer_of(ends[1]);
    assert_int_equal(p.is, PEER_USER);
    assert_int_equal(p.uid, getuid());
    assert_true(peer_same(&p, &same));
    close(ends[0]);
    close(ends[1]);
}

static void check_loopback(int family)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
    int listener = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, a, size) < 0) /* no IPv6 here */
        skip();
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, a, &size), 0);
    assert_int_equal(connect(client, a, size), 0);
    int fd = accept(listener, NULL, NULL);
    struct peer p = peer_of(fd);
    if (p.is == PEER_ADDRESS) /* a kernel or sandbox without sock_diag(7) */
        assert_int_equal(p.uid, 0);
    else
        assert_int_equal(p.uid, getuid());
    assert_int_not_equal(p.is, PEER_UNKNOWN);
    close(fd);
    close(client);
    close(listener);
}

TEST(a_connection_within_the_machine)
{
    check_loopback(AF_INET);
}

TEST(a_connection_within_the_machine_by_ipv6)
{
    check_loopback(AF_INET6);
}

/* The kernel says 0 of a socket that was closed: that would be root. */
TEST(a_client_that_has_left_has_no_user)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &size), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&a, size), 0);
    close(client);
    int fd = accept(listener, NULL, NULL);
    struct peer p = peer_of(fd);
    assert_int_equal(p.is, PEER_ADDRESS);
    assert_int_equal(p.uid, 0);
    assert_int_equal(p.address[0], 127);
    close(fd);
    close(listener);
}

TEST(peers_are_told_apart)
{
    struct peer root = {.is = PEER_USER}, other = {.is = PEER_USER, .uid = 1}, none = {0},
                near = {.is = PEER_ADDRESS, .address = {10, 0, 0, 1}},
                far = {.is = PEER_ADDRESS, .address = {10, 0, 0, 2}};
    assert_true(peer_same(&root, &root) && peer_same(&near, &near));
    assert_false(peer_same(&root, &other) || peer_same(&near, &far) || peer_same(&root, &none) ||
                 peer_same(&none, &near));
    none = peer_of(-1);
    assert_int_equal(none.is, PEER_UNKNOWN);
}
