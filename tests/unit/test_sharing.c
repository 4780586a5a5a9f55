/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that share memory: what a reply of the helper changes, and whose pss is old when another one gives its
 * files up. Values computed by hand. */

#define UNIT_EACH begin, end
#include "unit.h"
#include "recorder/collectors/processes/pss_sharing.h"

#define MB (1u << 20)

static const struct job_sink sink;
static struct job j;
static struct account account;
static struct sampling s;
static struct memory y;

static int begin(void **state)
{
    s = (struct sampling){.account = &account, .job = &j, .need = BARO_SOURCE_SMAPS, .now_ns = NS_PER_SEC};
    memory_init(&y, &s);
    return job_init(&j, &sink, false, 0, 100);
}

static int end(void **state)
{
    job_done(&j);
    return 0;
}

/* A member that stat and status show with 8 MB of its own, and with files. */
static void read_files(struct member *m, uint64_t files)
{
    static const enum process_metric there[] = {PROCESS_rss, PROCESS_rss_file, PROCESS_rss_shmem};
    for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
        m->row.absent[there[i]] = BARO_PRESENT;
    m->row.value[PROCESS_state] = 'S';
    m->row.value[PROCESS_rss_file] = files;
    m->row.value[PROCESS_rss] = m->reading.stat_rss = m->reading.status_rss = 8 * MB + files;
    sharing_note_files(&y, m);
}

static struct member *mapped(int32_t pid, uint64_t files)
{
    struct member *m = job_add(&j, pid, NULL, BARO_ORIGIN_TARGET, 5);
    m->row.parent.pid = pid - 1;
    m->reading.comm[0] = (char)pid; /* another program */
    m->reading.sampled = true;
    read_files(m, files);
    return m;
}

static void ask(struct member *m)
{
    y.moved_since_asked = false;
    y.files_asked = y.files;
    sharing_note_asked(m);
}

static void reply(const struct member *m, uint64_t pss, uint64_t uss)
{
    const struct helper_reply r = {.key = m->row.key, .what = HELPER_SMAPS, .pss = pss, .uss = uss};
    memory_take_reply(&y, &r);
}

static void ask_and_reply(struct member *m, uint64_t pss, uint64_t uss)
{
    ask(m);
    reply(m, pss, uss);
}

/* Two processes that map the same 100 MB, and have been read since. */
static struct member *two(struct member **ret_other)
{
    struct member *one = mapped(400, 100 * MB);
    *ret_other = mapped(500, 100 * MB);
    ask_and_reply(*ret_other, 58 * MB, 8 * MB);
    ask_and_reply(one, 58 * MB, 8 * MB);
    ask_and_reply(*ret_other, 58 * MB, 8 * MB); /* that of one may have changed it */
    assert_false(sharing_is_stale(&y, one));
    assert_false(sharing_is_stale(&y, *ret_other));
    return one;
}

/* smaps was read while the process lived, and the reply comes when stat shows that it has given up its memory: it holds
 * none. For one that has memory, pss is a lower bound of rss, which each CPU counts in batches. */
TEST(a_late_reply_gives_no_memory_back)
{
    struct member *m = job_add(&j, 400, NULL, BARO_ORIGIN_TARGET, 5);
    m->row.absent[PROCESS_rss] = m->row.absent[PROCESS_rss_peak] = BARO_PRESENT;
    m->row.value[PROCESS_state] = 'R';
    m->row.value[PROCESS_rss_peak] = 47000000;
    m->reading.has_no_memory = true;
    reply(m, 26000000, 20000000);
    assert_int_equal(m->row.value[PROCESS_rss], 0);
    m->reading.has_no_memory = false;
    m->row.value[PROCESS_rss] = 25000000;
    reply(m, 26000000, 20000000);
    assert_int_equal(m->row.value[PROCESS_rss], 26000000);
}

TEST(an_end_makes_the_pss_of_others_old)
{
    struct member *other, *one = two(&other);
    sharing_note_left(&y, other, true);
    assert_true(sharing_is_stale(&y, one));
}

/* As Python does before it ends. The end itself then gives up 5 MB. */
TEST(files_that_are_unmapped_make_the_pss_of_others_old)
{
    struct member *other, *one = two(&other);
    read_files(other, 5 * MB);
    assert_true(sharing_is_stale(&y, one));
    ask_and_reply(one, 108 * MB, 108 * MB);
    assert_false(sharing_is_stale(&y, one));
    sharing_note_left(&y, other, true); /* what is left of it is not worth a read */
    assert_false(sharing_is_stale(&y, one));
}

/* status was not read since: what rss has lost may be files, or not. It counts once. */
TEST(rss_that_falls_may_be_files)
{
    struct member *other, *one = two(&other);
    other->row.value[PROCESS_rss] = other->reading.stat_rss = 20 * MB;
    sharing_note_files(&y, other);
    assert_true(sharing_is_stale(&y, one));
    ask_and_reply(one, 108 * MB, 108 * MB);
    read_files(other, 12 * MB);
    assert_false(sharing_is_stale(&y, one));
}

/* Of 300 MB it is not known how much is files until status is read, which shows 5 MB: it has given up none. */
TEST(rss_that_is_no_file_is_not_given_up_files)
{
    struct member *one = mapped(400, 100 * MB), *other = job_add(&j, 500, NULL, BARO_ORIGIN_TARGET, 5);
    ask_and_reply(one, 58 * MB, 8 * MB);
    other->row.absent[PROCESS_rss] = BARO_PRESENT;
    other->row.value[PROCESS_rss] = other->reading.stat_rss = 300 * MB;
    sharing_note_files(&y, other);
    read_files(other, 5 * MB);
    assert_false(sharing_is_stale(&y, one));
    read_files(other, 100 * MB);
    read_files(other, 5 * MB);
    assert_true(sharing_is_stale(&y, one));
}

/* Memory of its own comes and goes: no other process has any of it. */
TEST(memory_that_is_no_file_makes_nothing_old)
{
    struct member *other, *one = two(&other);
    for (int i = 0; i < 10; i++) {
        other->row.value[PROCESS_rss] = other->reading.stat_rss = other->reading.status_rss = (108 + i % 2 * 50) * MB;
        sharing_note_files(&y, other);
    }
    assert_false(sharing_is_stale(&y, one));
}

/* Most of its own is given up, and its pss, which is not read again, can't be more than rss: that it shared 50 MB is
 * known nevertheless. */
TEST(what_is_shared_is_known_when_rss_falls)
{
    struct member *other, *one = two(&other);
    other->row.value[PROCESS_pss] = other->row.value[PROCESS_uss] = 20 * MB;
    sharing_note_left(&y, other, true);
    assert_true(sharing_is_stale(&y, one));
}

/* The helper waits for a CPU: it reads when 1 of 100 MB is mapped, and its reply comes when all are. */
TEST(a_late_reply_lacks_what_was_mapped_since)
{
    struct member *one = mapped(400, 100 * MB), *other = mapped(500, 1 * MB);
    ask_and_reply(one, 58 * MB, 8 * MB);
    ask(other);
    read_files(other, 100 * MB);
    reply(other, 8 * MB + MB / 2, 8 * MB);
    assert_false(sharing_is_stale(&y, one));
    sharing_note_left(&y, other, true);
    assert_true(sharing_is_stale(&y, one));
}

/* status is not read for the budget: it had 1 MB of files, and rss has grown by 99 MB since. */
TEST(files_that_status_does_not_show_yet_are_given_up)
{
    struct member *one = mapped(400, 100 * MB), *other = mapped(500, 1 * MB);
    ask_and_reply(one, 58 * MB, 8 * MB);
    ask_and_reply(other, 8 * MB + MB / 2, 8 * MB);
    other->row.value[PROCESS_rss] = other->reading.stat_rss = 108 * MB;
    sharing_note_files(&y, other);
    assert_false(sharing_is_stale(&y, one));
    sharing_note_left(&y, other, true);
    assert_true(sharing_is_stale(&y, one));
}
