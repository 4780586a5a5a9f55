/* SPDX-License-Identifier: Apache-2.0 */
/* What connections of baro serve may hold: the budget of answers that are made and that are not taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "programs/baro-serve/clients.h"

#define MOST 1000000u

struct state {
    struct clients c;
    struct client *one[3];
    int ends[3][2];
};

static int begin(void **state)
{
    struct state *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    assert_int_equal(clients_init(&s->c, 8, MOST), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->ends[i]), 0);
        s->one[i] = clients_add(&s->c, s->ends[i][0]);
        assert_non_null(s->one[i]);
    }
    s->one[2]->peer = (struct peer){.is = PEER_USER, .uid = 12345}; /* another user than the first two */
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct state *s = *state;
    for (int i = 0; i < 3; i++) {
        clients_remove(&s->c, s->one[i]);
        close(s->ends[i][0]);
        close(s->ends[i][1]);
    }
    assert_int_equal(s->c.unsent, 0);
    clients_done(&s->c);
    free(s);
    return 0;
}

static void test_an_answer_counts_while_it_is_made(void **state)
{
    struct state *s = *state;
    struct making first, second, other;
    clients_make(&s->c, &first, s->one[0]);
    clients_make(&s->c, &second, s->one[1]);
    clients_make(&s->c, &other, s->one[2]);
    assert_true(clients_grow(&first, 65536)); /* a small one needs no room */
    assert_int_equal(s->c.unsent, 0);
    assert_true(clients_grow(&first, 300000));
    assert_true(clients_grow(&first, 400000)); /* the whole, not what is added */
    assert_int_equal(s->c.unsent, 400000);
    assert_true(clients_grow(&second, 100000)); /* half of it for one user */
    assert_false(clients_grow(&second, 100001));
    assert_true(second.is_refused);
    assert_false(first.is_refused);
    assert_true(clients_grow(&other, 500000));
    assert_int_equal(s->c.unsent, MOST);
    assert_false(clients_grow(&other, 500001));
    assert_true(clients_full(&s->c, s->one[2]));
    clients_made(&second, NULL, 0);
    clients_made(&other, NULL, 0);
    assert_int_equal(s->c.unsent, 400000);
    clients_made(&first, s->one[0], 350000); /* its buffer had room for more */
    assert_int_equal(s->c.unsent, 350000);
    clients_phase(&s->c, s->one[0], CLIENT_IDLE);
    assert_int_equal(s->c.unsent, 0);
}

static void test_one_alone_may_be_larger(void **state)
{
    struct state *s = *state;
    struct making large, other;
    clients_make(&s->c, &large, s->one[0]);
    clients_make(&s->c, &other, s->one[2]);
    assert_true(clients_grow(&large, 5 * MOST));
    assert_true(clients_grow(&other, 65536));
    assert_false(clients_grow(&other, 65537));
    clients_made(&large, s->one[0], 5 * MOST);
    assert_false(clients_grow(&other, 65537)); /* until it is taken */
    clients_phase(&s->c, s->one[0], CLIENT_IDLE);
    assert_true(clients_grow(&other, 65537));
    clients_made(&other, NULL, 0);
}

static void test_a_buffer_asks_before_it_grows(void **state)
{
    struct state *s = *state;
    struct making m, other;
    static const char kilobyte[1024];
    clients_make(&s->c, &other, s->one[1]);
    assert_true(clients_grow(&other, 100000));
    clients_make(&s->c, &m, s->one[0]);
    struct buf out = {.may_grow = clients_grow, .grower = &m};
    while (!out.failed)
        buf_add(&out, kilobyte, sizeof(kilobyte));
    assert_true(m.is_refused);
    assert_int_equal(out.cap, 262144); /* the next one, 524288, and 100000 are more than half of the budget */
    assert_int_equal(out.len, out.cap);
    assert_int_equal(s->c.unsent, 362144);
    buf_done(&out);
    clients_made(&m, NULL, 0);
    clients_made(&other, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_answer_counts_while_it_is_made, begin, end),
        cmocka_unit_test_setup_teardown(test_one_alone_may_be_larger, begin, end),
        cmocka_unit_test_setup_teardown(test_a_buffer_asks_before_it_grows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
