/* SPDX-License-Identifier: Apache-2.0 */
/* What barograph's own processes send to the recorder when they are damaged: it is refused, whatever it is. */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "recorder/collectors/directories/state.h"
#include "recorder/collectors/sockets/state.h"
#include "recorder/helper/wire.h"
#include "recorder/select/select.h"

/* ---- replies of the helper ---- */

static bool is_taken(struct helper_wire_reply w)
{
    static unsigned char packet[sizeof(w) + 2 * HELPER_CMDLINE_MAX];
    const unsigned char *at = packet;
    size_t len = sizeof(packet);
    uint64_t serial;
    struct helper_reply r;
    memset(packet, 'x', sizeof(packet));
    memcpy(packet, &w, sizeof(w));
    if (w.name_len)
        packet[sizeof(w) + w.name_len - 1] = 0;
    if (w.cmdline_len)
        packet[sizeof(w) + w.name_len + w.cmdline_len - 1] = 0;
    return helper_wire_next(&at, &len, &serial, &r);
}

TEST(replies)
{
    assert_true(is_taken((struct helper_wire_reply){.name_len = HELPER_NAME_MAX}));
    assert_false(is_taken((struct helper_wire_reply){.name_len = HELPER_NAME_MAX + 1}));
    assert_true(is_taken((struct helper_wire_reply){.cmdline_len = HELPER_CMDLINE_MAX + 1}));
    assert_false(is_taken((struct helper_wire_reply){.cmdline_len = HELPER_CMDLINE_MAX + 2}));
    assert_true(is_taken((struct helper_wire_reply){.smaps_absent = BARO_ABSENT_UNKNOWN}));
    assert_false(is_taken((struct helper_wire_reply){.smaps_absent = ABSENT_COUNT}));
    assert_false(is_taken((struct helper_wire_reply){.name_absent = ABSENT_COUNT}));
    assert_false(is_taken((struct helper_wire_reply){.cmdline_absent = ABSENT_COUNT}));
    assert_false(is_taken((struct helper_wire_reply){.host_absent = UINT8_MAX}));
}

/* ---- walks of directories ---- */

static void say(void *context, const char *line)
{
}

/* The row has the number of walks of a reading that is taken. */
static uint64_t walks_after(const struct directory_reading *r)
{
    uint32_t ids = 0;
    struct directories *d;
    const struct directories_options o = {.entity_ids = &ids};
    assert_int_equal(directories_new(&d, &o, NULL), 0);
    assert_int_equal(directories_add(d, "/one", (struct baro_entity_owner){0}, NULL), 0);
    worker_end(directories_worker(d)); /* none is started */
    struct directories_shared *shared = worker_shared(directories_worker(d));
    shared->slot[0].now = *r;
    atomic_store(&shared->slot[0].turn, 2);
    directories_tick(d, NS_PER_SEC, say, NULL);
    const struct baro_entity *e = directories_view(d).at[0];
    uint64_t walks = e->value[DIRECTORY_walks];
    assert_true(walks || e->absent[DIRECTORY_used]); /* no sum that was not read */
    directories_free(d);
    return walks;
}

TEST(walks)
{
    const struct directory_reading good = {.begin_ns = 5, .end_ns = 9, .sums = {.used = 4096}, .type = "ext4"};
    struct directory_reading r = good;
    assert_int_equal(walks_after(&r), 1);
    memset(r.type, 't', sizeof(r.type));
    assert_int_equal(walks_after(&r), 0);
    r = good;
    memset(r.source, 's', sizeof(r.source));
    assert_int_equal(walks_after(&r), 0);
    r = good;
    r.absent = 256; /* as a byte: present */
    assert_int_equal(walks_after(&r), 0);
    r = good;
    r.begin_ns = 10;
    assert_int_equal(walks_after(&r), 0);
}

/* ---- sockets ---- */

static bool is_answer_taken(const struct sockets_answer *answer)
{
    const struct sockets_options o = {.proc_fd = open("/", O_PATH | O_CLOEXEC)}; /* a /proc without processes */
    struct sockets_totals totals;
    const struct owner *rows;
    struct sockets *s;
    assert_int_equal(sockets_new(&s, &o, NULL), 0);
    worker_end(sockets_worker(s));
    struct sockets_shared *shared = worker_shared(sockets_worker(s));
    memcpy(&shared->answer, answer, sizeof(*answer));
    atomic_store(&shared->answer_turn, 2);
    bool taken = sockets_take(s, &totals, &rows);
    assert_true(!taken || totals.any <= 1);
    sockets_free(s);
    close(o.proc_fd);
    return taken;
}

TEST(sockets)
{
    static struct sockets_answer a = {.totals = {.n = 2, .any = 77}};
    assert_true(is_answer_taken(&a));
    a.row[1].absent = ABSENT_COUNT;
    assert_false(is_answer_taken(&a));
    a.row[1].absent = 0;
    a.totals.net_absent = ABSENT_COUNT;
    assert_false(is_answer_taken(&a));
    a.totals.net_absent = 0;
    a.totals.n = OWNERS_MOST + 1;
    assert_false(is_answer_taken(&a));
}

/* ---- the process that selects ---- */

TEST(changes)
{
    const struct watch_change good[] = {{.job = 1, .what = WATCH_JOIN, .task = 1, .pid = 7},
                                        {.job = 1, .what = WATCH_LEAVE, .pid = 7},
                                        {.job = 1, .what = WATCH_READY},
                                        {.job = 1, .what = WATCH_UNREAD, .pid = 7},
                                        {.job = WATCH_ALL, .what = WATCH_UNREAD, .pid = 7}};
    const struct watch_change bad[] = {{.job = 1, .what = WATCH_JOIN, .task = 0, .pid = 7},
                                       {.job = 1, .what = WATCH_JOIN, .task = 1, .pid = -1},
                                       {.job = WATCH_ALL, .what = WATCH_JOIN, .task = 1, .pid = 7},
                                       {.job = 1, .what = WATCH_LEAVE, .pid = 0},
                                       {.job = WATCH_ALL, .what = WATCH_READY},
                                       {.job = 1, .what = WATCH_UNREAD + 1, .pid = 7}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(select_change_check(&good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(select_change_check(&bad[i]));
}
