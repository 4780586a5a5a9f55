/* SPDX-License-Identifier: Apache-2.0 */
/* Whose sockets are whose; what the kernel says of one, cut off at every byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/collectors/sockets/owners.h"

#define ESTABLISHED 1
#define LISTEN 10
#define AFTER(k, s, r)                                                                                                 \
    {                                                                                                                  \
        .key = k, .sent = s, .received = r                                                                             \
    }

static const struct baro_key parent = {100, 5000}, child = {90, 6000}, late = {110, 7000};

static struct owners o;

/* Most tests are of a kernel that reports the ends of sockets. */
static int setup(void **state)
{
    assert_int_equal(owners_init(&o), 0);
    o.ends_known = true;
    return 0;
}

static int teardown(void **state)
{
    owners_done(&o);
    return 0;
}

static void again(void)
{
    teardown(NULL);
    setup(NULL);
}

static struct diag_socket one(uint64_t cookie, uint32_t inode, uint64_t sent, uint64_t received)
{
    return (struct diag_socket){
        .cookie = cookie, .inode = inode, .state = ESTABLISHED, .has_bytes = true, .sent = sent, .received = received};
}

static void see(uint64_t cookie, uint32_t inode, uint64_t sent, uint64_t received)
{
    struct diag_socket s = one(cookie, inode, sent, received);
    assert_int_equal(owners_socket(&o, &s), 0);
}

static void end(uint64_t cookie, uint64_t sent, uint64_t received)
{
    struct diag_socket s = one(cookie, 0, sent, received);
    owners_ended(&o, &s);
}

static void the_first_that_started_has_it(void **state)
{
    owners_begin(&o, (struct owner_asked[]){{.key = child}, {.key = parent}}, 2);
    assert_true(baro_key_equal(o.at[0].key, parent)); /* the pid is larger, the start is earlier */
    owners_hold(&o, 0, 77);
    owners_hold(&o, 1, 77);
    owners_hold(&o, 1, 78);
    see(1, 77, 10, 20);
    see(2, 78, 1, 2);
    see(3, 99, 1000, 1000); /* of others */
    owners_end(&o);
    assert_int_equal(o.at[0].sent, 10);
    assert_int_equal(o.at[0].received, 20);
    assert_int_equal(o.at[0].connections, 1);
    assert_int_equal(o.at[1].sent, 1);
    assert_int_equal(o.sent, 11);
    assert_int_equal(o.received, 22);
    assert_false(o.is_bound);
}

/* The parent closes it, and the child goes on: the growth is the child's. Then the child ends, and so does the socket.
 */
static void growth_counts_for_who_has_it_then(void **state)
{
    owners_begin(&o, (struct owner_asked[]){{.key = parent}, {.key = child}}, 2);
    owners_hold(&o, 0, 77);
    see(1, 77, 10, 20);
    owners_end(&o);
    owners_begin(&o, (struct owner_asked[]){{.key = late}, {.key = parent}, {.key = child}}, 3);
    owners_hold(&o, 1, 77);
    see(1, 77, 15, 20);
    owners_end(&o);
    assert_int_equal(o.at[0].sent, 10);
    assert_int_equal(o.at[1].sent, 5);
    owners_begin(&o, (struct owner_asked[]){{.key = late}, {.key = parent}}, 2);
    see(1, 0, 17, 21); /* nobody holds it, and what it had is still sent */
    owners_end(&o);
    end(1, 18, 22);
    assert_int_equal(o.n_sockets, 0);
    assert_int_equal(o.at[0].sent, 10);
    assert_int_equal(o.at[1].sent, 0);
    assert_int_equal(o.sent, 18);
    assert_int_equal(o.received, 22);
    assert_false(o.is_bound);
}

/* What another worker has counted for a process stays with it; the job's sums are the recorder's to add. */
static void another_worker_goes_on(void **state)
{
    o.base = true;
    owners_begin(&o, (struct owner_asked[]){AFTER(parent, 1000, 2000), AFTER(child, 5, 6)}, 2);
    owners_hold(&o, 0, 77);
    see(1, 77, 900, 1800);
    owners_end(&o);
    assert_int_equal(o.at[0].sent, 1000);
    owners_begin(&o, (struct owner_asked[]){AFTER(parent, 1000, 2000), AFTER(child, 5, 6)}, 2);
    owners_hold(&o, 0, 77);
    see(1, 77, 910, 1801);
    owners_end(&o);
    assert_int_equal(o.at[0].sent, 1010);
    assert_int_equal(o.at[0].received, 2001);
    assert_int_equal(o.at[1].sent, 5);
    assert_int_equal(o.sent, 10);
}

static void what_ended_unseen_is_not_attributed(void **state)
{
    end(5, 0, 0); /* a listening one */
    assert_false(o.is_bound);
    end(6, 3, 4);
    assert_true(o.is_bound);
    assert_int_equal(o.sent, 0);
    assert_int_equal(o.unattributed_sent, 3);
    assert_int_equal(o.unattributed_received, 4);
}

static void listens(uint64_t cookie, uint32_t inode, uint8_t address, uint16_t port)
{
    struct diag_socket s = {.cookie = cookie, .inode = inode, .state = LISTEN, .port = port, .address = {address}};
    assert_int_equal(owners_socket(&o, &s), 0);
}

static void end_at(uint64_t cookie, uint8_t address, uint16_t port)
{
    struct diag_socket s = one(cookie, 0, 7, 9);
    s.port = port;
    s.address[0] = address;
    owners_ended(&o, &s);
}

/* Connections that were never seen: those to port 80 are the parent's, except at the address where the child listens;
 * those to port 81 are of a process that is no member, or of both. */
static void one_that_was_accepted_counts_for_who_listens(void **state)
{
    for (int reading = 0; reading < 2; reading++) {
        owners_begin(&o, (struct owner_asked[]){{.key = parent}, {.key = child}}, 2);
        owners_hold(&o, 0, 70);
        owners_hold(&o, 1, 71);
        listens(1, 70, 0, 80);
        listens(2, 71, 5, 80);
        listens(3, 99, 0, 81);
        listens(4, 70, 0, 81);
        end_at((uint64_t)reading * 10 + 11, 4, 80);
        owners_end(&o);
        end_at((uint64_t)reading * 10 + 12, 5, 80);
    }
    owners_look(&o);
    assert_int_equal(o.at[0].sent, 14);
    assert_int_equal(o.at[1].received, 18);
    assert_int_equal(o.sent, 28);
    assert_false(o.is_bound);
    end_at(31, 4, 81);
    assert_int_equal(o.unattributed_sent, 7);
    assert_true(o.is_bound);
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1); /* the child has ended, and its socket with it */
    end_at(32, 5, 80);
    assert_int_equal(o.sent, 35);
    owners_end(&o);
    end_at(33, 5, 80); /* nobody listens any more */
    assert_int_equal(o.sent, 35);
    assert_int_equal(o.unattributed_sent, 14);
}

/* The parent listens, and is the client of the child, which accepts: both hold what listens, and no connection is seen.
 * What ended there is the job's, and that of no process. */
static void one_that_several_may_have_accepted(void **state)
{
    owners_begin(&o, (struct owner_asked[]){{.key = parent}, {.key = late}}, 2);
    owners_hold(&o, 0, 70);
    owners_hold(&o, 0, 70); /* by two descriptors */
    listens(1, 70, 0, 80);
    end_at(11, 4, 80);
    owners_end(&o);
    owners_look(&o);
    assert_int_equal(o.at[0].sent, 7);
    assert_false(o.at[0].is_short);
    owners_begin(
        &o, (struct owner_asked[]){{.key = parent, .forks = 1}, {.key = child, .parent = parent}, {.key = late}}, 3);
    owners_hold(&o, 0, 70);
    owners_hold(&o, 1, 70);
    listens(1, 70, 0, 80);
    end_at(12, 4, 80);
    owners_end(&o);
    owners_look(&o);
    owners_begin(
        &o, (struct owner_asked[]){{.key = parent, .forks = 1}, {.key = child, .parent = parent}, {.key = late}}, 3);
    owners_hold(&o, 1, 70); /* the parent has closed it, after the end of another one or before */
    listens(1, 70, 0, 80);
    end_at(13, 4, 80);
    owners_end(&o);
    owners_look(&o);
    assert_int_equal(o.sent, 21);
    assert_int_equal(o.at[0].sent, 7);
    assert_int_equal(o.at[1].sent, 0);
    assert_true(o.at[0].is_short);
    assert_true(o.at[1].is_short);
    assert_false(o.at[2].is_short);
    assert_false(o.is_bound);
}

/* A server forks a child for a connection; it came, and both are over at the next reading. Without a child it is the
 * server's, also where it does not listen any more. */
static void one_that_a_child_may_have_had(void **state)
{
    for (uint32_t forks = 0; forks < 2; forks++) {
        owners_begin(&o, &(struct owner_asked){.key = parent, .forks = forks}, 1);
        owners_hold(&o, 0, 70);
        listens(1, 70, 0, 80);
        end_at(11, 4, 80);
        owners_end(&o);
        owners_look(&o);
        assert_int_equal(o.at[0].is_short, forks);
    }
    end_at(12, 4, 80); /* between two readings */
    owners_begin(&o, &(struct owner_asked){.key = parent, .forks = 1}, 1);
    owners_end(&o);
    owners_look(&o);
    assert_int_equal(o.at[0].sent, 14);
    assert_int_equal(o.sent, 21);
}

/* A reading is asked for when no fork is known, and done late: the parent has a child by then, which accepts. A reading
 * that was asked for after the end decides. */
static void one_that_ended_after_the_reading_was_asked_for(void **state)
{
    for (uint32_t is_forked = 0; is_forked < 2; is_forked++) {
        again();
        for (uint64_t asked_ns = 100; asked_ns < 400; asked_ns += 100) {
            uint32_t forks = asked_ns == 300 ? is_forked : 0;
            o.known_ns = asked_ns;
            owners_begin(&o, (struct owner_asked[]){{.key = parent, .forks = forks}, {.key = child, .parent = parent}},
                         1 + forks);
            owners_hold(&o, 0, 70);
            if (forks)
                owners_hold(&o, 1, 70);
            if (asked_ns < 300 || forks)
                listens(1, 70, 0, 80);
            o.ends_ns = 150;
            if (asked_ns == 100)
                end_at(11, 4, 80);
            o.ends_ns = 250;
            if (asked_ns == 200)
                end_at(12, 4, 80);
            owners_end(&o);
            owners_look(&o);
            assert_int_equal(o.sent, asked_ns == 100 ? 7 : 14);
            assert_int_equal(o.at[0].is_unsettled, asked_ns < 300);
            assert_int_equal(o.at[0].sent, asked_ns == 100 ? 0 : asked_ns == 300 && !is_forked ? 14 : 7);
        }
        assert_int_equal(o.at[0].is_short, is_forked);
        assert_int_equal(o.n == 2 && o.at[1].is_short, is_forked);
        assert_false(o.is_bound);
    }
}

/* Without events: it has ended, and may have had a child that was not seen. */
static void one_of_a_server_that_has_ended(void **state)
{
    for (int is_blind = 0; is_blind < 2; is_blind++) {
        again();
        o.ends_known = false;
        owners_begin(&o, &(struct owner_asked){.key = parent, .is_blind = is_blind}, 1);
        owners_hold(&o, 0, 70);
        listens(1, 70, 0, 80);
        owners_end(&o);
        owners_begin(&o, &(struct owner_asked){.key = parent, .is_blind = is_blind}, 1);
        o.at[0].absent = BARO_ABSENT_GONE;
        end_at(11, 4, 80);
        owners_end(&o);
        owners_look(&o);
        assert_int_equal(o.sent, 7);
        assert_int_equal(o.at[0].sent, is_blind ? 0 : 7);
        assert_int_equal(o.at[0].is_short, is_blind);
    }
}

/* Two that share a port: SO_REUSEPORT, or IPv4 and IPv6, which are told apart. */
static void listeners_at_one_port(void **state)
{
    for (uint8_t is_shared = 0; is_shared < 2; is_shared++) {
        struct diag_socket s = one(11, 0, 7, 9);
        again();
        o.ends_known = false;
        owners_begin(&o, (struct owner_asked[]){{.key = parent}, {.key = child}}, 2);
        owners_hold(&o, 0, 70);
        owners_hold(&o, 1, 71);
        listens(1, 70, 0, 80);
        owners_socket(&o, &(struct diag_socket){
                              .cookie = 2, .inode = 71, .state = LISTEN, .port = 80, .family = is_shared ? 0 : 10});
        s.port = 80;
        s.family = is_shared ? 0 : 10;
        owners_ended(&o, &s);
        owners_end(&o);
        owners_look(&o);
        assert_int_equal(o.sent, 7);
        assert_int_equal(o.at[0].sent, 0);
        assert_int_equal(o.at[1].sent, is_shared ? 0 : 7);
        assert_int_equal(o.at[0].is_short, is_shared);
        assert_int_equal(o.at[1].is_short, is_shared);
    }
}

/* What two readings have found so belongs to others. One that was opened between descriptors and sockets is not. */
static void sockets_of_others(void **state)
{
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    see(1, 77, 10, 20);
    see(2, 78, 10, 20);
    see(3, 79, 10, 20);
    owners_end(&o);
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    owners_hold(&o, 0, 78);
    see(1, 77, 11, 21);
    see(2, 78, 12, 22);
    owners_end(&o);
    assert_int_equal(o.sent, 12);
    end(1, 1000, 1000);
    assert_false(o.is_bound);
    assert_int_equal(o.unattributed_sent, 0);
    end(3, 10, 20);
    assert_true(o.is_bound);
    assert_int_equal(o.unattributed_sent, 10);
}

/* Without reports of ends, what a socket did after it was seen last is not known. */
static void one_that_vanishes_is_a_lower_bound(void **state)
{
    o.ends_known = false;
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    owners_hold(&o, 0, 77);
    see(1, 77, 10, 20);
    owners_end(&o);
    assert_false(o.is_bound);
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    owners_end(&o);
    assert_true(o.is_bound);
    assert_int_equal(o.n_sockets, 0);
    assert_int_equal(o.at[0].sent, 10);
}

static void the_base_is_not_counted(void **state)
{
    o.base = true;
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    owners_hold(&o, 0, 77);
    see(1, 77, 10, 20);
    owners_end(&o);
    owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
    owners_hold(&o, 0, 77);
    owners_hold(&o, 0, 78);
    see(1, 77, 11, 25);
    see(2, 78, 100, 100); /* began later */
    owners_end(&o);
    assert_int_equal(o.sent, 101);
    assert_int_equal(o.received, 105);
}

/* Many sockets that come and go: none is lost in the table. */
static void many(void **state)
{
    for (uint64_t round = 0; round < 20; round++) {
        owners_begin(&o, &(struct owner_asked){.key = parent}, 1);
        for (uint64_t i = 1; i <= 1000; i++) {
            owners_hold(&o, 0, (uint32_t)(round * 1000 + i));
            see(round * 1000 + i, (uint32_t)(round * 1000 + i), 1, 2);
        }
        owners_end(&o);
        for (uint64_t i = 1; i <= 1000; i += 1)
            end(round * 1000 + (i * 7919) % 1000 + 1, 2, 2);
        assert_int_equal(o.n_sockets, 0);
    }
    assert_int_equal(o.sent, 40000);
    assert_int_equal(o.at[0].received, 40000);
    assert_int_equal(o.unattributed_sent, 0);
    assert_false(o.is_bound);
}

/* ---- the kernel's message ---- */

static size_t message(unsigned char *to, size_t info)
{
    struct inet_diag_msg m = {.idiag_family = 2, .idiag_state = ESTABLISHED, .idiag_inode = 4711};
    struct nlattr other = {sizeof(other) + 1, INET_DIAG_SHUTDOWN}, a = {(uint16_t)(sizeof(a) + info), INET_DIAG_INFO};
    struct tcp_info t = {
        .tcpi_bytes_acked = 501, .tcpi_bytes_received = 70, .tcpi_bytes_sent = 600, .tcpi_bytes_retrans = 100};
    m.id.idiag_cookie[0] = 5;
    m.id.idiag_cookie[1] = 1;
    memcpy(to, &m, sizeof(m));
    memcpy(to + sizeof(m), &other, sizeof(other));
    memset(to + sizeof(m) + sizeof(other), 0, 4);
    memcpy(to + sizeof(m) + sizeof(other) + 4, &a, sizeof(a));
    memcpy(to + sizeof(m) + sizeof(other) + 4 + sizeof(a), &t, info);
    return sizeof(m) + sizeof(other) + 4 + sizeof(a) + info;
}

static void messages(void **state)
{
    unsigned char bytes[1024];
    struct diag_socket s;
    size_t n = message(bytes, sizeof(struct tcp_info));
    assert_true(diag_parse(span_of((const char *)bytes, n), &s));
    assert_int_equal(s.cookie, UINT64_C(1) << 32 | 5);
    assert_int_equal(s.inode, 4711);
    assert_int_equal(s.state, ESTABLISHED);
    assert_true(s.has_bytes);
    assert_int_equal(s.sent, 500);
    assert_int_equal(s.received, 70);
    n = message(bytes, offsetof(struct tcp_info, tcpi_bytes_sent)); /* before 4.19 */
    assert_true(diag_parse(span_of((const char *)bytes, n), &s));
    assert_true(s.has_bytes);
    assert_int_equal(s.sent, 501);
    n = message(bytes, offsetof(struct tcp_info, tcpi_bytes_acked)); /* before 4.1 */
    assert_true(diag_parse(span_of((const char *)bytes, n), &s));
    assert_false(s.has_bytes);
}

static void cut_off(void **state)
{
    unsigned char bytes[1024];
    size_t n = message(bytes, sizeof(struct tcp_info));
    for (size_t len = 0; len < n; len++) {
        char *exact = malloc(len + 1); /* a read past its end is found by the sanitizer */
        struct diag_socket s;
        memcpy(exact, bytes, len);
        exact = realloc(exact, len ? len : 1);
        bool ok = diag_parse(span_of(exact, len), &s);
        assert_int_equal(ok, len >= sizeof(struct inet_diag_msg));
        assert_false(ok && s.has_bytes && s.sent != 500);
        free(exact);
    }
}

#define OWNERS(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWNERS(the_first_that_started_has_it),
        OWNERS(growth_counts_for_who_has_it_then),
        OWNERS(another_worker_goes_on),
        OWNERS(what_ended_unseen_is_not_attributed),
        OWNERS(one_that_was_accepted_counts_for_who_listens),
        OWNERS(one_that_several_may_have_accepted),
        OWNERS(one_that_a_child_may_have_had),
        OWNERS(one_that_ended_after_the_reading_was_asked_for),
        OWNERS(one_of_a_server_that_has_ended),
        OWNERS(listeners_at_one_port),
        OWNERS(sockets_of_others),
        OWNERS(one_that_vanishes_is_a_lower_bound),
        OWNERS(the_base_is_not_counted),
        OWNERS(many),
        cmocka_unit_test(messages),
        cmocka_unit_test(cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
