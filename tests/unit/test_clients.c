/* SPDX-License-Identifier: Apache-2.0 */
/* What connections of baro serve may hold: the budget of answers that are made and that are not taken. */
#include <sys/socket.h>
#include <unistd.h>

#define UNIT_EACH begin, end
#include "unit.h"
#include "base/buf.h"
#include "programs/baro-serve/clients.h"

#define MOST 1000000u

static const struct peer own = {.is = PEER_USER}, another = {.is = PEER_USER, .uid = 12345};

struct state {
    struct clients c;
    struct client *one[3];
    int ends[3][2];
};

static struct state s;

static int begin(void **state)
{
    assert_int_equal(clients_init(&s.c, 8, MOST), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s.ends[i]), 0);
        s.one[i] = clients_add(&s.c, s.ends[i][0], i < 2 ? &own : &another);
        assert_non_null(s.one[i]);
    }
    return 0;
}

static int end(void **state)
{
    for (int i = 0; i < 3; i++) {
        clients_remove(&s.c, s.one[i]);
        close(s.ends[i][0]);
        close(s.ends[i][1]);
    }
    assert_int_equal(s.c.unsent, 0);
    clients_done(&s.c);
    return 0;
}

TEST(an_answer_counts_while_it_is_made)
{
    struct making first, second, other;
    clients_make(&s.c, &first, s.one[0]);
    clients_make(&s.c, &second, s.one[1]);
    clients_make(&s.c, &other, s.one[2]);
    assert_true(clients_grow(&first, 65536)); /* a small one needs no room */
    assert_int_equal(s.c.unsent, 0);
    assert_true(clients_grow(&first, 300000));
    assert_true(clients_grow(&first, 400000)); /* the whole, not what is added */
    assert_int_equal(s.c.unsent, 400000);
    assert_true(clients_grow(&second, 100000)); /* half of it for one user */
    assert_false(clients_grow(&second, 100001));
    assert_true(second.is_refused);
    assert_false(first.is_refused);
    assert_true(clients_grow(&other, 500000));
    assert_int_equal(s.c.unsent, MOST);
    assert_false(clients_grow(&other, 500001));
    assert_true(clients_full(&s.c, s.one[2]));
    clients_made(&second, NULL, 0);
    clients_made(&other, NULL, 0);
    assert_int_equal(s.c.unsent, 400000);
    clients_made(&first, s.one[0], 350000); /* its buffer had room for more */
    assert_int_equal(s.c.unsent, 350000);
    clients_phase(&s.c, s.one[0], CLIENT_IDLE);
    assert_int_equal(s.c.unsent, 0);
}

TEST(one_alone_may_be_larger)
{
    struct making large, other;
    clients_make(&s.c, &large, s.one[0]);
    clients_make(&s.c, &other, s.one[2]);
    assert_true(clients_grow(&large, 5 * MOST));
    assert_true(clients_grow(&other, 65536));
    assert_false(clients_grow(&other, 65537));
    clients_made(&large, s.one[0], 5 * MOST);
    assert_false(clients_grow(&other, 65537)); /* until it is taken */
    clients_phase(&s.c, s.one[0], CLIENT_IDLE);
    assert_true(clients_grow(&other, 65537));
    clients_made(&other, NULL, 0);
}

TEST(a_buffer_asks_before_it_grows)
{
    struct making m, other;
    static const char kilobyte[1024];
    clients_make(&s.c, &other, s.one[1]);
    assert_true(clients_grow(&other, 100000));
    clients_make(&s.c, &m, s.one[0]);
    struct buf out = {.may_grow = clients_grow, .grower = &m};
    while (!out.failed)
        buf_add(&out, kilobyte, sizeof(kilobyte));
    assert_true(m.is_refused);
    assert_int_equal(out.cap, 262144); /* the next one, 524288, and 100000 are more than half of the budget */
    assert_int_equal(out.len, out.cap);
    assert_int_equal(s.c.unsent, 362144);
    buf_done(&out);
    clients_made(&m, NULL, 0);
    clients_made(&other, NULL, 0);
}

/* Has the server shut the connection down? */
static bool is_shut(int end)
{
    char any[4096];
    ssize_t n;
    while ((n = recv(end, any, sizeof(any), MSG_DONTWAIT)) > 0)
        ;
    return n == 0;
}

struct more {
    struct client *one;
    int ends[2];
};

static struct more add(const struct peer *peer)
{
    struct more m;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m.ends), 0);
    m.one = clients_add(&s.c, m.ends[0], peer);
    assert_non_null(m.one);
    return m;
}

static void drop(struct more *m)
{
    clients_remove(&s.c, m->one);
    close(m->ends[0]);
    close(m->ends[1]);
}

TEST(a_user_has_half_of_the_places)
{
    struct more m[5];
    clients_phase(&s.c, s.one[0], CLIENT_WORK);
    for (int i = 0; i < 3; i++)
        m[i] = add(&own);                /* the last one is the fifth: one of eight is kept free, and a user has four */
    assert_false(is_shut(s.ends[0][1])); /* it waits for an answer */
    assert_true(is_shut(s.ends[1][1]));  /* the oldest of those that have sent nothing */
    assert_false(is_shut(m[0].ends[1]) || is_shut(m[1].ends[1]) || is_shut(m[2].ends[1]));
    assert_false(m[2].one->is_over);
    assert_false(is_shut(s.ends[2][1])); /* another's, though it is older */
    for (int i = 0; i < 3; i++)
        clients_phase(&s.c, m[i].one, CLIENT_WORK);
    m[3] = add(&own); /* nobody gives way: it gets an error, */
    assert_true(m[3].one->is_over);
    assert_false(is_shut(m[3].ends[1]));
    m[4] = add(&own); /* and the next one not even that, but for that one */
    assert_true(is_shut(m[3].ends[1]));
    for (int i = 0; i < 5; i++)
        drop(&m[i]);
    assert_false(is_shut(s.ends[2][1]));
}

TEST(one_that_is_over_is_shut_down_where_there_are_many)
{
    struct more m[4];
    clients_phase(&s.c, s.one[0], CLIENT_WORK);
    clients_phase(&s.c, s.one[1], CLIENT_WORK);
    for (int i = 0; i < 4; i++) {
        m[i] = add(&own);
        clients_phase(&s.c, m[i].one, CLIENT_WORK);
    }
    assert_true(m[2].one->is_over && m[3].one->is_over);
    assert_false(is_shut(m[2].ends[1]));
    assert_true(is_shut(m[3].ends[1]));
    for (int i = 0; i < 4; i++)
        drop(&m[i]);
}

TEST(the_user_with_most_places_gives_way)
{
    static const struct peer third = {.is = PEER_USER, .uid = 3};
    struct more own_more[2], other = add(&another), late;
    for (int i = 0; i < 2; i++)
        own_more[i] = add(&own);
    assert_false(is_shut(s.ends[0][1]));
    late = add(&third); /* the seventh: */
    assert_false(is_shut(s.ends[0][1]));
    drop(&late);
    struct more one = add(&third), two = add(&third); /* the eighth is the last one */
    assert_true(is_shut(s.ends[0][1]));
    assert_false(is_shut(s.ends[2][1]) || is_shut(one.ends[1]) || is_shut(two.ends[1]) || two.one->is_over);
    drop(&one);
    drop(&two);
    drop(&other);
    drop(&own_more[0]);
    drop(&own_more[1]);
}

/* An answer that the kernel has, and that is not taken. */
static void owe(int i)
{
    static const char kilobyte[1024];
    clients_phase(&s.c, s.one[i], CLIENT_ANSWER);
    for (int n = 0; n < 64; n++) {
        assert_int_equal(send(s.ends[i][0], kilobyte, sizeof(kilobyte), 0), sizeof(kilobyte));
        clients_sent(&s.c, s.one[i], sizeof(kilobyte));
    }
}

static void wait_s(struct client *one, unsigned seconds)
{
    one->pace.begin_ns -= seconds * 1000000000ULL;
}

static void take(int end, size_t bytes)
{
    char any[1024];
    for (size_t n = 0; n < bytes; n += sizeof(any))
        assert_int_equal(recv(end, any, sizeof(any), MSG_DONTWAIT), sizeof(any));
}

TEST(a_slow_client_loses_its_place)
{
    owe(0);
    owe(2);
    wait_s(s.one[0], 19);
    wait_s(s.one[2], 19);
    clients_check(&s.c);
    assert_false(s.one[0]->is_ended || s.one[2]->is_ended);
    take(s.ends[2][1], 64 * 1024); /* this one is fast enough */
    wait_s(s.one[0], 2);
    wait_s(s.one[2], 2);
    clients_check(&s.c);
    assert_true(s.one[0]->is_ended && is_shut(s.ends[0][1]));
    assert_false(s.one[2]->is_ended);
    wait_s(s.one[2], 21); /* nothing waits for it in the kernel: we are slow, not the client */
    clients_check(&s.c);
    assert_false(s.one[2]->is_ended);
}

TEST(where_many_are_connected_it_has_to_be_faster)
{
    static const struct peer third = {.is = PEER_USER, .uid = 3};
    struct more m[4];
    for (int i = 0; i < 4; i++)
        m[i] = add(&third);
    owe(0);
    owe(2);
    take(s.ends[0][1], 4 * 1024);
    take(s.ends[2][1], 60 * 1024);
    wait_s(s.one[0], 3);
    wait_s(s.one[2], 3);
    clients_check(&s.c);
    assert_true(s.one[0]->is_ended);
    assert_false(s.one[2]->is_ended);
    for (int i = 0; i < 4; i++)
        drop(&m[i]);
}
