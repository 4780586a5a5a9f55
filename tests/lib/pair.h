/* SPDX-License-Identifier: Apache-2.0 */
/* A job of two processes, a command and its child, for tests of what the ledger counts when they end. */
#ifndef TESTS_PAIR_H
#define TESTS_PAIR_H

#include "unit.h"

#include "base/clock.h"
#include "recorder/job/job.h"

#define MS NS_PER_MS

static inline void ignore_exit(void *context, const struct baro_exit *e)
{
    (void)context;
    (void)e;
}

static inline void keep_exit(void *context, const struct baro_exit *e)
{
    *(struct baro_exit *)context = *e;
}

static inline void put(struct member *m, enum process_metric id, uint64_t v)
{
    member_moved(m);
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
}

static inline bool is_there(void *context, struct member *m)
{
    (void)context;
    (void)m;
    return true;
}

/* The command 400 and its child 401, which used 80 ms and is gone. */
static inline void begin_pair(struct job *j, struct member **ret_command, struct member **ret_child)
{
    static const struct job_sink sink = {.exit = ignore_exit};
    assert_int_equal(job_init(j, &sink, false, 0, 100), 0);
    j->wrapper.pid = 4000;
    j->adopts = j->source.events = true;
    *ret_command = job_add(j, 400, NULL, BARO_ORIGIN_TARGET, 5);
    *ret_child = job_add(j, 401, *ret_command, BARO_ORIGIN_EVENT, 6);
    put(*ret_child, PROCESS_cpu, 80 * MS);
    put(*ret_child, PROCESS_cpu_user, 80 * MS);
    put(*ret_command, PROCESS_threads, 1);
    put(*ret_command, PROCESS_io_rchar, 0);
    (*ret_child)->life.end_reported = true;
}

#endif
